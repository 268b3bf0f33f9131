"use strict";
(() => {
  const table = document.getElementById("rows"), body = table.tBodies[0];
  const filter = document.getElementById("filter"), only = document.getElementById("only");
  const count = document.getElementById("count"), more = document.getElementById("more");
  const STEP = 300; // rows that are laid out at a time: what is hidden costs nothing
  let column = -1, descending = false, limit = STEP;

  const key = (row, c) => {
    const cell = row.cells[c];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const text = row.dataset.t || (row.dataset.t = Array.from(row.querySelectorAll(".name"), c => c.textContent).join(" ").toLowerCase());
      const hit = words.every(w => text.includes(w)) && (only.value === "" || row.dataset[only.value] === "1");
      shown += hit;
      row.hidden = !hit || shown > limit;
    }
    body.classList.add("all");
    more.hidden = shown <= limit;
    more.textContent = "Show more (" + (shown - limit) + ")";
    count.textContent = shown + " of " + body.rows.length + " containers";
  };
  const sort = () => {
    if (column < 0) return;
    const keyed = Array.from(body.rows, row => [key(row, column), row]);
    keyed.sort((a, b) => {
      const order = typeof a[0] === "number" ? a[0] - b[0] : a[0].localeCompare(b[0]);
      return descending ? -order : order;
    });
    body.append(...keyed.map(k => k[1]));
    Array.from(table.tHead.rows[0].cells, (th, c) => {
      if (c === column) th.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
  };
  table.tHead.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (!button) return;
    const c = button.parentElement.cellIndex;
    descending = column === c ? !descending : button.parentElement.classList.contains("r");
    column = c;
    limit = STEP;
    sort();
    show();
  });
  more.addEventListener("click", () => { limit *= 4; show(); });
  let timer = 0;
  filter.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 80); });
  only.addEventListener("change", show);
  show();

  const live = document.documentElement.dataset.live;
  const status = document.getElementById("live");
  const refresh = async () => {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok) throw new Error((await answer.text()).trim() || "status " + answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      body.replaceChildren(...page.getElementById("rows").tBodies[0].rows);
      for (const part of ["notes", "sums"]) document.getElementById(part).replaceWith(page.getElementById(part));
      document.getElementById("when").textContent = page.getElementById("when").textContent;
      sort();
      show();
      status.textContent = "";
    } catch (error) {
      status.textContent = "Not up to date: " + error.message;
    }
    setTimeout(refresh, live * 1000);
  };
  if (live) setTimeout(refresh, live * 1000);
})();
