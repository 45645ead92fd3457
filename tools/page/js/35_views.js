// The views, by the schema they show (without its version).
//
//   view("goodput.whatif", {
//     title: "Stragglers",                     what such a result is called
//     headline: (result) => "One sentence.",   what it says, in words
//     figures: (result) => [{label, value, note}],   key figures, as text; of several results side by side
//     render: (panel, result) => {...},        everything else, into a Panel
//   });
//
// A member that a result lacks is said with panel.missing(). A schema without a view gets the generic one.
const views = new Map();

function view(schema, parts) { views.set(schema, parts); }

function viewOf(result) { return views.get(String(result.schema).split("/")[0]) ?? genericView; }
