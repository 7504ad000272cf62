import type { FrontOptions } from './front-options.js';

/**
 * The front for HTTP. What names a model goes to its home. What tells of all models no cell can answer, and is refused; the
 * front is ready as long as every cell is.
 */
export function httpFrontend(cells: readonly string[], { host, httpPort }: FrontOptions): string {
  return `frontend http
  bind ${host}:${httpPort}
${AFTER}
${cells.map((cell) => `  acl lacks-a-cell nbsrv(${cell}-http) eq 0`).join('\n')}
  acl ready path /v2/health/ready
  acl of-repository path_beg /v2/repository/models/
  ${json(200, '{"live":true}')} if { path /v2/health/live }
  ${json(503, '{"ready":false,"error":"the server is not ready: a cell has no controller that is"}')} if ready lacks-a-cell
  ${json(200, '{"ready":true}')} if ready
  ${refusal(501, 'each cell knows its own models only: ask the controllers themselves')} if { path /v2/models /v2/models/ /v2/models/stats /v2/repository/index }
  http-request set-var(txn.home) str(any) if { path /v2 /v2/ }
  http-request set-var(txn.home) path,field(4,/),url_dec,map(models.map) if { path_beg /v2/models/ }
  http-request set-var(txn.home) path,field(5,/),url_dec,map(models.map) if of-repository
  ${refusal(404, 'no cell has this model, or there is no such path')} unless { var(txn.home) -m found }
  ${refusal(501, 'several cells have this model: load and unload it in each of them')} if of-repository { var(txn.home) -m beg shared- }
  use_backend %[var(txn.home)]-http`;
}

/** What clients are to repeat has one status. */
const AFTER = `  http-after-response set-status 503 if { status 502 }
  http-after-response set-header retry-after 1 if { status 503 }`;

function refusal(status: number, what: string): string {
  return json(status, JSON.stringify({ error: what }));
}

function json(status: number, body: string): string {
  return `http-request return status ${status} content-type application/json string '${body}'`;
}
