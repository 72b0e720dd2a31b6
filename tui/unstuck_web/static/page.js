// Keeps an open page up to date. Without it the page reads and answers just the same, when it is loaded again.
"use strict";

(() => {
  const body = document.body;
  const source = body.dataset.events;
  const title = document.title.replace(/^\(\d+\) /, "");

  // --- clocks: the server says how much is left, and here only the seconds since then are counted ---------------------

  const begun = new WeakMap();
  const span = (seconds) => {
    const whole = Math.max(0, Math.floor(seconds));
    const two = (number) => String(number).padStart(2, "0");
    if (whole < 60) return `${whole}s`;
    if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
    return `${Math.floor(whole / 3600)}h ${two(Math.floor(whole / 60) % 60)}m`;
  };
  const tick = () => {
    const now = performance.now() / 1000;
    for (const one of document.querySelectorAll("[data-left]")) {
      if (!begun.has(one)) begun.set(one, now);
      const text = span(Number(one.dataset.left) - (now - begun.get(one)));
      if (one.textContent !== text) one.textContent = text;
    }
  };
  tick();
  setInterval(tick, 1000);

  // --- parts ---------------------------------------------------------------------------------------------------------

  const made = (html) => {
    const box = document.createElement("template");
    box.innerHTML = html;
    return box.content.firstElementChild;
  };
  const put = (old, html) => {
    const fresh = made(html);
    if (!fresh || old.isEqualNode(fresh)) return;
    const focus = old.contains(document.activeElement) ? document.activeElement : null;
    const open = [...old.querySelectorAll("details")].map((one) => one.open);
    const scrolled = [...old.querySelectorAll("pre")].map((one) => [one.id, one.scrollTop, one.scrollLeft, one.scrollTop + one.clientHeight >= one.scrollHeight - 4]);
    const path = focus && (focus.id ? `#${CSS.escape(focus.id)}` : focus.getAttribute("href") ? `[href="${CSS.escape(focus.getAttribute("href"))}"]` : "");
    old.replaceWith(fresh);
    [...fresh.querySelectorAll("details")].forEach((one, place) => { if (open[place]) one.open = true; });
    [...fresh.querySelectorAll("pre")].forEach((one, place) => {
      const before = scrolled[place];
      if (!before) return;
      one.scrollTop = one.id === "tail" && before[3] ? one.scrollHeight : before[1];
      one.scrollLeft = before[2];
    });
    if (path) fresh.querySelector(path)?.focus({ preventScroll: true });
  };
  // What a person is writing is left alone, whatever happens meanwhile; and so is an answer that was not taken.
  const isWritten = (card) =>
    card.querySelector(".alert") ||
    [...card.querySelectorAll("textarea, input:not([type=hidden])")].some((one) => one.value !== one.defaultValue) ||
    card.contains(document.activeElement) && document.activeElement.matches("textarea, input");

  const closeCard = (card, words) => {
    if (card.classList.contains("over")) return;
    card.classList.add("over");
    const told = document.createElement("p");
    told.className = "done";
    told.setAttribute("role", "status");
    told.textContent = `This question is answered: ${words}. What you wrote stays here and is not sent.`;
    card.querySelector("header").after(told);
    for (const button of card.querySelectorAll("button")) button.disabled = true;
  };

  const showQuestions = (questions, closed) => {
    const list = document.getElementById("questions");
    if (!list) return;
    const only = body.dataset.only;
    const open = new Map(questions);
    const shown = new Map([...list.children].map((card) => [card.dataset.gate, card]));
    for (const [gate, card] of shown) {
      if (open.has(gate)) continue;
      if (isWritten(card) || only) closeCard(card, closed[gate] || "its cause is gone");
      else card.remove();
    }
    for (const [gate, html] of questions) {
      if (only && gate !== only) continue;
      const card = shown.get(gate);
      if (!card) list.append(made(html));
      else if (!isWritten(card)) put(card, html);
    }
    const calm = document.getElementById("calm");
    if (calm) calm.hidden = list.children.length > 0;
  };

  const showTasks = (tasks) => {
    const list = document.getElementById("tasks");
    if (!list) return;
    const known = new Map([...list.children].map((one) => [one.dataset.task, one]));
    for (const [id, html] of tasks) {
      if (known.has(id)) put(known.get(id), html);
      else if (list.dataset.whole) list.append(made(html));
    }
  };

  const show = (parts) => {
    if (parts.head) { const head = document.getElementById("head"); if (head) put(head, parts.head); }
    if (parts.task) { const task = document.getElementById("task"); if (task) put(task, parts.task); }
    if (parts.questions) showQuestions(parts.questions, parts.closed);
    if (parts.tasks) showTasks(parts.tasks);
    if (parts.title !== undefined) document.title = parts.title + title;
    tick();
  };

  // --- events --------------------------------------------------------------------------------------------------------

  const stale = document.getElementById("stale");
  const follow = () => {
    let last = body.dataset.after;
    let events = null;
    const connect = () => {
      const mark = source.includes("?") ? "&" : "?";
      events = new EventSource(`${source}${mark}after=${encodeURIComponent(last)}`);
      events.addEventListener("open", () => { stale.hidden = true; body.classList.add("live"); });
      events.addEventListener("parts", (event) => { if (event.lastEventId) last = event.lastEventId; show(JSON.parse(event.data)); });
      events.addEventListener("ended", () => { events.close(); location.reload(); });
      events.addEventListener("error", () => {
        stale.hidden = false;
        body.classList.remove("live");
        // A browser gives up after some errors, such as a refused connection through a proxy.
        if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
      });
    };
    connect();
    addEventListener("pagehide", () => events.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  };
  if (source) follow();

  // --- forms ---------------------------------------------------------------------------------------------------------

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    for (const button of form.querySelectorAll("button")) setTimeout(() => { button.disabled = true; });
  });
  // Whoever begins to write is there: the timer that would answer stops, as it does at the screen.
  document.addEventListener("input", (event) => {
    const card = event.target.closest(".card");
    const timer = card && card.querySelector(".acts form");
    if (!timer || card.dataset.kept) return;
    card.dataset.kept = "yes";
    fetch(timer.action, { method: "POST", body: new URLSearchParams(new FormData(timer)), redirect: "manual" });
  });
})();
