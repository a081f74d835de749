// Zooming maps and naming their points, sorting tables: for all that the page ever shows. Nothing is fetched.
(() => {
  const mapOf = (event) => event.target.closest && event.target.closest("svg.hfp-map");
  const boxOf = (map) => map.getAttribute("viewBox").split(" ").map(Number);
  const place = (map, event) => {
    const frame = map.getBoundingClientRect(), [x, y, width, height] = boxOf(map);
    return [x + (event.clientX - frame.left) / frame.width * width, y + (event.clientY - frame.top) / frame.height * height];
  };
  const home = (map) => { map.dataset.home = map.dataset.home || map.getAttribute("viewBox"); return map.dataset.home; };
  const zoom = (map, factor, [cx, cy]) => {
    const full = home(map).split(" ").map(Number), [x, y, width, height] = boxOf(map);
    const size = Math.min(full[2], Math.max(full[2] / 200, width * factor)), ratio = size / width;
    if (size === full[2]) { map.setAttribute("viewBox", home(map)); return; }
    map.setAttribute("viewBox", [cx - (cx - x) * ratio, cy - (cy - y) * ratio, size, height * ratio].join(" "));
  };
  const keyOf = (row, place) => {
    const cell = row.children[place];
    return cell.dataset.hfpValue === undefined ? cell.textContent : Number(cell.dataset.hfpValue);
  };
  const sort = (head) => {
    const heads = [...head.parentNode.children], place = heads.indexOf(head), body = head.closest("table").tBodies[0];
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b) * sign;
    const keyed = [...body.rows].map((row) => [keyOf(row, place), row]);
    // What is no number stands last.
    keyed.sort(([a], [b]) => Number.isNaN(a) - Number.isNaN(b) || compare(a, b) || 0).forEach(([, row]) => body.append(row));
  };
  document.addEventListener("click", (event) => {
    const head = event.target.closest && event.target.closest("[data-hfp-sort]");
    if (head) sort(head);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches && event.target.matches("[data-hfp-sort]")) sort(event.target);
  });
  let dragged = null;
  document.addEventListener("wheel", (event) => {
    const map = mapOf(event);
    if (!map) return;
    event.preventDefault();
    zoom(map, event.deltaY < 0 ? 0.8 : 1.25, place(map, event));
  }, { passive: false });
  document.addEventListener("pointerdown", (event) => {
    const map = mapOf(event);
    if (map) { home(map); dragged = { map, from: place(map, event) }; }
  });
  document.addEventListener("pointerup", () => { dragged = null; });
  document.addEventListener("dblclick", (event) => {
    const map = mapOf(event);
    if (map) map.setAttribute("viewBox", home(map));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-hfp-zoom]");
    if (!button) return;
    const map = button.closest(".hfp-mapbox").querySelector("svg.hfp-map"), [x, y, width, height] = boxOf(map);
    const factor = Number(button.dataset.hfpZoom);
    home(map);
    if (factor) zoom(map, factor, [x + width / 2, y + height / 2]); else map.setAttribute("viewBox", home(map));
  });
  document.addEventListener("pointermove", (event) => {
    if (dragged) {
      const [x, y, width, height] = boxOf(dragged.map), [px, py] = place(dragged.map, event);
      dragged.map.setAttribute("viewBox", [x + dragged.from[0] - px, y + dragged.from[1] - py, width, height].join(" "));
    }
    const named = event.target.closest && event.target.closest("[data-hfp-text]");
    let tip = document.getElementById("hfp-tip");
    if (!tip) { tip = document.createElement("div"); tip.id = "hfp-tip"; document.body.append(tip); }
    tip.style.display = named ? "block" : "none";
    if (named) {
      tip.textContent = named.dataset.hfpText;
      tip.style.left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8) + "px";
      tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + "px";
    }
  });
})();
