// goodput.fleet: what stragglers cost many jobs, and why.

// Values beyond these are not drawn: where little is lost, M_W and M_S are mostly noise.
const kFleetCurves = {
  waste: {
    title: "Waste per job",
    note: "Share of a job's GPU-hours that is wasted: 1 \u2212 1/S.",
    x: "waste",
    mark: "S = 1.1"
  },
  steps: {
    title: "Slow steps",
    note: "Slowdown of each step divided by S of its job: 1 everywhere if all steps are equally slow.",
    x: "slowdown of a step divided by S"
  },
  m_w: {
    title: "Slowest workers",
    note: "M_W is the share of a job's loss explained by its slowest 3 % of workers.",
    x: "M_W",
    range: [-0.25, 1.5],
    mark: "half of the loss"
  },
  m_s: {
    title: "Last pipeline stage",
    note: "M_S is the share of a job's loss explained by its last pipeline stage.",
    x: "M_S",
    range: [-0.25, 1.5],
    mark: "half of the loss"
  },
  correlation: {
    title: "Sequence lengths",
    note: "If the same micro-batches are slow both forward and backward, long sequences are a likely cause.",
    x: "correlation of forward and backward passes",
    mark: "high: 0.9"
  },
};

function fleetFormat(unit) {
  return {share: fmt.percent, slowdown: fmt.fixed(3), correlation: fmt.fixed(2)}[unit] ?? fmt.number;
}

// In a column or beside a word that says GPU-hours.
function fleetHours(value) {
  return isNumber(value) && Math.abs(value) < 100 ? fmt.number(value, 3) : fmt.integer(value);
}

function fleetFigure(result, key) { return (result.figures ?? []).find((one) => one.figure === key); }

function fleetFigures(result) {
  const wasted = fleetFigure(result, "gpu_hours_wasted");
  const interval = ({ci, unit}) =>
      ci ? `${fleetFormat(unit)(ci[0])} to ${fleetFormat(unit)(ci[1])} at 95 % confidence` : undefined;
  const one = (key, text) => {
    const figure = fleetFigure(result, key);
    if (!figure || !isNumber(figure.value)) return [];
    return [{label: text, value: fleetFormat(figure.unit)(figure.value), note: interval(figure)}];
  };
  return [
    ...one("gpu_hours_wasted", "Share of GPU-hours wasted"),
    ...(wasted && isNumber(result.gpu_hours_wasted) ? [{
      label: "GPU-hours wasted",
      value: fleetHours(result.gpu_hours_wasted),
      note: `of ${fleetHours(result.gpu_hours_studied)} GPU-hours`
    }] :
                                                      []),
    {
      label: "Jobs studied",
      value: fmt.integer(result.jobs_studied),
      note: `of ${fmt.integer(result.jobs_read)} read`
    },
    ...one("slow_jobs", "Jobs with S \u2265 1.1"),
    ...one("waste_p90", "Waste per job, P90"),
  ];
}

// A cumulative distribution of percentiles: it leaps at each by 1 %. It reaches to the mark, even if no value
// does.
function fleetCurvePoints(percentiles, range, mark) {
  const points = [[percentiles[0], 0]];
  for (let at = 1; at < percentiles.length; ++at)
    points.push([percentiles[at], (at - 1) / 100], [percentiles[at], at / 100]);
  if (mark < percentiles[0]) points.unshift([mark, 0]);
  if (mark > percentiles[percentiles.length - 1]) points.push([mark, 1]);
  return range ? points.filter(([x]) => x >= range[0] && x <= range[1]) : points;
}

function fleetCurve(panel, result, key) {
  const look = kFleetCurves[key];
  const curve = (result.distributions ?? []).find((one) => one.distribution === key);
  const section = panel.section(look.title, look.note);
  if (!curve) return section.note("No job has this value.");
  const counted =
      result.weight === "job" ? `share of ${key === "steps" ? "steps" : "jobs"}` : "share of GPU-hours";
  const chart = section.curves({
    title: `${look.title}: cumulative ${counted}`,
    x: {label: look.x, format: fleetFormat(curve.unit)},
    y: {label: counted, format: fmt.percent},
    series:
        [{name: look.x, points: fleetCurvePoints(curve.percentiles, look.range, curve.paper_mark ?? NaN)}],
    verticals: look.mark && isNumber(curve.paper_mark) ? [{x: curve.paper_mark, label: look.mark}] : []
  });
  section.note(`${fmt.integer(curve.jobs)} ${curve.over}${
      look.range ? `; values outside ${
                       look.range.map((one) => fleetFormat(curve.unit)(one)).join(" to ")} are not drawn` :
                   ""}.`);
  return chart;
}

function fleetJobs(panel, result) {
  const names = new Map((result.causes ?? []).map((cause) => [cause.cause, cause.name]));
  const jobs = (result.costliest_jobs ?? []).filter((job) => job.waste > 0);
  const section = panel.section(
      "Which jobs lose the most?",
      `The ${fmt.integer(jobs.length)} studied jobs that waste the most GPU-hours.`);
  section.table({
    title: "costliest jobs",
    file: "jobs",
    rows: jobs,
    columns: [
      {key: "job", format: oneLine}, {key: "slowdown", label: "S", format: fmt.fixed(3)},
      {key: "waste", format: fmt.percent},
      {key: "wasted_gpu_hours", label: "wasted GPU-hours", format: fleetHours},
      {key: "gpu_hours", label: "GPU-hours", format: fleetHours}, {key: "gpus", label: "GPUs"}, {
        key: "causes",
        label: "likely causes",
        value: (job) => job.causes.map((key) => names.get(key) ?? key).join(", ") || "none found",
        format: oneLine
      }
    ]
  });
}

function fleetCauses(panel, result) {
  const causes = result.causes ?? [];
  const section = panel.section(
      "Which causes cost the most?",
      "How much fixing each likely cause would save. A job can have several causes, so the shares do not add up.");
  if (causes.length === 0) return section.note("No likely cause was found in any job.");
  const unit =
      isNumber(result.gpu_hours_studied) ? "share of GPU-hours" : "share of job time, averaged over jobs";
  return section.barChart({
    title: `Saved by fixing the cause, ${unit}`,
    valueLabel: unit,
    format: fmt.percent,
    rows: causes.map((cause) => ({label: cause.name, value: cause.saved_share}))
  }) &&
      section.table({
        title: "likely causes",
        file: "causes",
        rows: causes,
        columns: [
          {key: "name", label: "likely cause", format: oneLine}, {key: "jobs"},
          {key: "saved_share", label: "share saved", format: fmt.percent},
          {key: "saved_gpu_hours", label: "GPU-hours saved", format: fleetHours},
          {key: "mean_slowdown", label: "mean S", format: fmt.fixed(3)},
          {key: "mean_gain", label: "mean gain", format: fmt.ratio}
        ]
      });
}

function fleetOptypes(panel, result) {
  const types = result.optypes ?? [];
  if (types.length === 0) return;
  panel
      .section(
          "Which operations waste time?",
          "Waste if only this op type ran as recorded and all others were ideal; mean over the studied jobs with this op type.")
      .barChart({
        title: "Waste by op type, share of the job's time",
        valueLabel: "waste",
        format: (value) => (isNumber(value) ? `${(100 * value).toFixed(2)}\u202f%` : kNothing),
        rows: types.map((type) => ({label: type.optype, value: type.waste, note: plural(type.jobs, "job")}))
      });
}

function fleetSizes(panel, result) {
  const sizes = result.sizes ?? [];
  if (sizes.length === 0) return;
  const section = panel.section(
      "Do larger jobs lose more?",
      isNumber(result.size_correlation) ?
          `Rank correlation of S and the number of GPUs: ${
              result.size_correlation.toFixed(2).replace(
                  "-", kMinus)}. The paper found no positive correlation.` :
          "A correlation needs at least three jobs with a known number of GPUs.");
  section.barChart({
    title: "Mean slowdown S by number of GPUs",
    base: 1,
    valueLabel: "mean S",
    format: fmt.fixed(3),
    rows: sizes.map((size) => ({
                      label: `${fmt.integer(size.least_gpus)} to ${fmt.integer(size.most_gpus)} GPUs`,
                      value: size.mean_slowdown
                    }))
  });
  section.table({
    title: "sizes",
    file: "sizes",
    rows: sizes,
    columns: [
      {key: "least_gpus", label: "GPUs, from"}, {key: "most_gpus", label: "to"}, {key: "jobs"},
      {key: "mean_slowdown", label: "mean S", format: fmt.fixed(3)},
      {key: "slow_share", label: "jobs with S \u2265 1.1", format: fmt.percent}
    ]
  });
}

function fleetHosts(panel, result) {
  const hosts = result.hosts ?? [];
  const section = panel.section("Which hosts are slow in several jobs?");
  if (!result.jobs_with_hosts) return section.note("No job has host names.");
  if (hosts.length === 0)
    return section.note(`No host was slow; ${plural(result.jobs_with_hosts, "job")} had host names.`);
  return section.table({
    title: "slow hosts",
    file: "hosts",
    rows: hosts,
    columns: [
      {key: "host", format: oneLine}, {key: "slow_in", label: "slow in (jobs)"},
      {key: "ran_in", label: "ran in (jobs)"},
      {key: "mean_slowdown", label: "mean S alone", format: fmt.fixed(3)},
      {key: "worst_slowdown", label: "max S alone", format: fmt.fixed(3)},
      {key: "jobs", value: (host) => host.jobs.join(", "), format: oneLine}
    ]
  });
}

function fleetPaper(panel, result) {
  panel
      .section(
          "How does this compare with the paper?",
          "The results of the paper \u201cUnderstanding Stragglers in Large Model Training Using What-if Analysis\u201d (OSDI\u201925, sections 4 and 5), computed for these jobs.")
      .table({
        title: "figures",
        file: "figures",
        rows: result.figures ?? [],
        columns: [
          {key: "what", label: "result"},
          {key: "value", label: "here", format: (value, row) => fleetFormat(row.unit)(value)}, {
            key: "low",
            label: "95 % CI from",
            value: (row) => row.ci?.[0],
            format: (value, row) => fleetFormat(row.unit)(value)
          },
          {
            key: "high",
            label: "to",
            value: (row) => row.ci?.[1],
            format: (value, row) => fleetFormat(row.unit)(value)
          },
          {key: "paper", format: (value, row) => fleetFormat(row.unit)(value)}, {key: "jobs"},
          {key: "over", label: "of", format: oneLine}
        ]
      });
}

function fleetFilters(panel, result) {
  const share = (part, whole) => (whole > 0 ? part / whole : null);
  const section = panel.section("Which jobs were left out?");
  section.table({
    title: "filters",
    file: "filters",
    rows: result.filters ?? [],
    columns: [
      {key: "why", label: "reason", format: oneLine}, {key: "jobs"}, {key: "of_jobs", label: "of jobs"}, {
        key: "share_of_jobs",
        label: "share",
        value: (one) => share(one.jobs, one.of_jobs),
        format: fmt.percent
      },
      {key: "gpu_hours", label: "GPU-hours", format: fleetHours}, {
        key: "share_of_gpu_hours",
        label: "share of GPU-hours",
        value: (one) => share(one.gpu_hours, one.of_gpu_hours),
        format: fmt.percent
      },
      {key: "paper_share_of_jobs", label: "paper: share of jobs", format: fmt.percent},
      {key: "paper_share_of_gpu_hours", label: "paper: share of GPU-hours", format: fmt.percent},
      {key: "unknown_jobs", label: "kept because unknown"}
    ]
  });
  if (result.kept?.text) section.text(result.kept.text);
  if (result.notes?.length > 0) section.list(result.notes);
}

view("goodput.fleet", {
  title: "Stragglers in a fleet",
  headline: (result) => result.headline ?? null,
  figures: fleetFigures,
  render(panel, result) {
    fleetCauses(panel, result);
    fleetJobs(panel, result);
    const cost = panel.section("How much do stragglers cost?").columns();
    fleetCurve(cost, result, "waste");
    fleetCurve(cost, result, "steps");
    fleetOptypes(panel, result);
    const faults = panel.section("Are workers, stages or sequences the cause?").columns();
    for (const key of ["m_w", "m_s", "correlation"]) fleetCurve(faults, result, key);
    fleetSizes(panel, result);
    fleetHosts(panel, result);
    fleetPaper(panel, result);
    fleetFilters(panel, result);
  },
});
