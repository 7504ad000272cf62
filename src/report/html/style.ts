import { COLOR_STYLE } from '../colors.js';

/** The report's style sheet: one column, light or dark as the system prefers, black on white in print. */
export const STYLE = `
${COLOR_STYLE}:root { --chart-filter: none; }
@media (prefers-color-scheme: dark) { :root { --chart-filter: invert(1) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 Inter, system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 40px 20px 64px; }
header .kind { margin: 0; color: var(--muted); font-size: 14px; }
h1, h1 + p, p, dd, li { overflow-wrap: anywhere; }
h1 { margin: 4px 0 10px; font-size: 34px; line-height: 1.2; letter-spacing: -0.015em; }
h1 + p { margin: 0 0 24px; font-size: 18px; max-width: 46em; }
h2 { margin: 44px 0 14px; font-size: 21px; letter-spacing: -0.01em; }
p { max-width: 46em; }
.hint { display: none; }
.scripted .hint { display: block; }
p.small { color: var(--muted); font-size: 14px; margin: 10px 0 0; max-width: 64em; }
a { color: var(--strong); }
.alert { background: var(--alert-ground); color: var(--alert); border-radius: 10px; padding: 12px 16px; margin: 20px 0 0; max-width: none; }
.alert a { color: inherit; }
.scroll, figure .scroller { overflow-x: auto;
  background: linear-gradient(to left, var(--card) 50%, transparent) right / 40px 100% no-repeat local,
  linear-gradient(to left, var(--line), transparent) right / 20px 100% no-repeat scroll, var(--card); }
section > :is(.scroll, pre) + :is(.scroll, pre), section > .scroll ~ pre { margin-top: 14px; }
.scroll { border: 1px solid var(--line); border-radius: 10px; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 8px 12px; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
td u { text-underline-offset: 3px; text-decoration-color: var(--strong); }
td.wrap { white-space: normal; min-width: 9em; }
tbody tr:last-child td { border-bottom: 0; }
th { color: var(--muted); font-weight: 500; font-size: 13px; white-space: normal; vertical-align: bottom; }
th.n, td.n { text-align: right; }
td strong { color: var(--strong); }
.scripted .sortable th { cursor: pointer; user-select: none; }
.sortable th[aria-sort]::after { content: " ↑"; }
.sortable th[aria-sort="descending"]::after { content: " ↓"; }
figure { margin: 0 0 18px; padding: 6px 10px; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
figcaption { margin: 8px 8px 10px; color: var(--muted); font-size: 14px; max-width: 64em; overflow-wrap: anywhere; }
figcaption strong { display: block; color: var(--ink); font-size: 17px; }
figure .picture { filter: var(--chart-filter); }
figure svg { display: block; margin: 0 auto; width: 100%; height: auto; min-width: min(calc(0.9 * var(--natural)), 900px); max-width: calc(1.35 * var(--natural)); }
:focus-visible { outline: 2px solid var(--strong); outline-offset: 2px; }
figure.live .static { display: none; }
pre { margin: 0; padding: 14px 16px; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.terms dt { font-weight: 600; }
.terms dd { margin: 0 0 8px; max-width: 46em; }
details summary { cursor: pointer; color: var(--strong); margin: 14px 0; }
#tip { position: fixed; z-index: 1; pointer-events: none; padding: 6px 10px; border-radius: 6px; font-size: 13px;
  background: var(--ink); color: var(--card); max-width: 380px; display: none; }
@media (max-width: 600px) { main { padding: 24px 14px 40px; } h1 { font-size: 26px; } h1 + p { font-size: 16px; }
  figure { padding: 4px 6px; } th, td { padding: 7px; } td.t { min-width: 6em; white-space: normal; } table { font-size: 13px; line-height: 20px; }
  .scroll :is(td, th):first-child { position: sticky; left: 0; background: var(--card); } }
@media print { :root { --ink: #000; --muted: #444; --line: #bbb; --ground: #fff; --card: #fff; --strong: #000;
  --alert: #000; --alert-ground: #fff; --chart-filter: none; } body { font-size: 10pt; } main { max-width: none; padding: 0; }
  figure, tr { break-inside: avoid; } figure svg { min-width: 0; } figure, .scroll, pre { border-color: #ccc; }
  .scroll { overflow: visible; } table { font-size: 8pt; } th, td { padding: 2px 5px; line-height: 1.3; white-space: normal; } pre { white-space: pre-wrap; }
  .scripted .hint { display: none; } h2 { break-after: avoid; margin: 14px 0 4px; font-size: 13pt; } h1 { font-size: 20pt; }
  h1 + p { font-size: 11pt; } th, p.small { font-size: 8pt; } pre { padding: 6px 10px; }
  p { max-width: none; line-height: 1.4; } header p, section p { margin: 4px 0; }
  section:has(> figure) { break-before: page; } }
`;
