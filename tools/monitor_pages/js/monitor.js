// Pages work without this. It renews what is live on them when the monitor says that there is news, says so
// when it cannot be reached, and takes clicks on pictures to where the links in tables go.
"use strict";
(() => {
  const LEAST_GAP_MS = 3000;  // between two renewals
  const WITHOUT_NEWS_MS =
      30000;  // then we look by ourselves: ages go on, and a dead connection may say nothing
  const topic = document.body.dataset.topic;  // percent-encoded; empty: nothing on this page changes
  const banner = document.getElementById("connection");
  let source = null;
  let renewedAt = Date.now();
  let waiting = null;
  let isRenewing = false;

  const say = (text) => {
    if (banner.textContent !== text) banner.textContent = text;
    banner.hidden = text === "";
  };
  const lost = () => say(`Lost the connection to the monitor. This page is from ${
      new Date(renewedAt).toLocaleTimeString()}; reconnecting.`);

  // Where a part was scrolled to and what was open or focused in it is kept.
  const scrollers = (part) => [...part.querySelectorAll("[tabindex='0'], details, a, button")];
  const replace = (part, fresh) => {
    const before = scrollers(part);
    const places = before.map((one) => [one.scrollLeft, one.scrollTop, one.open]);
    const focused = before.indexOf(document.activeElement);
    part.replaceChildren(...fresh.childNodes);
    scrollers(part).forEach((one, index) => {
      if (!places[index]) return;
      if (one.tagName === "DETAILS") one.open = places[index][2];
      if (places[index][0] || places[index][1]) one.scrollTo(places[index][0], places[index][1]);
      if (index === focused) one.focus({preventScroll: true});
    });
  };

  const renew = async () => {
    if (isRenewing || document.hidden) return;
    isRenewing = true;
    try {
      const answer = await fetch(location.href, {cache: "no-store"});
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const news = fresh.getElementById(part.id);
        if (news && news.innerHTML !== part.innerHTML) replace(part, news);
      }
      document.title = fresh.title;
      renewedAt = Date.now();
      say("");
    } catch {
      lost();
    }
    isRenewing = false;
  };
  const renewSoon = () => {
    if (waiting !== null) return;
    waiting = setTimeout(() => {
      waiting = null;
      renew();
    }, Math.max(0, renewedAt + LEAST_GAP_MS - Date.now()));
  };

  // A hidden page listens to nothing: browsers have few connections to a server for all their pages together.
  const listen = () => {
    source?.close();
    source = null;
    if (document.hidden) return;
    source = new EventSource(`/events?topic=${topic}`);
    // A page that was just loaded is as new as the stream.
    source.onopen = () => {
      if (!banner.hidden || Date.now() - renewedAt > LEAST_GAP_MS) renewSoon();
    };
    source.onerror = () => {
      lost();
      // After an answer that was no stream the browser gives up.
      if (source?.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
    };
    for (const name of ["step", "incident"]) source.addEventListener(name, renewSoon);
  };
  if (topic) {
    listen();
    document.addEventListener("visibilitychange", listen);
    window.addEventListener("pagehide", () => source?.close());
    setInterval(() => {
      if (Date.now() - renewedAt >= WITHOUT_NEWS_MS) renew();
    }, 5000);
  }

  document.documentElement.classList.add("scripted");
  document.addEventListener("click", (event) => {
    const marked = event.target.closest("[data-href]");
    if (marked) location.assign(marked.dataset.href);
    const box = event.target.closest("[data-workers]");
    const place =
        box && /^dp (\d+), stage (\d+)/.exec(event.target.querySelector?.("title")?.textContent ?? "");
    if (place) location.assign(`${box.dataset.workers}${place[1]}/${place[2]}`);
  });

  const slider = document.getElementById("step-slider");
  if (slider) {
    slider.addEventListener("input", () => (slider.form.querySelector("output").value = slider.value));
    slider.addEventListener("change", () => slider.form.requestSubmit());
  }
})();
