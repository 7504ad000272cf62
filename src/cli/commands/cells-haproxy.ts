import { join } from 'node:path';
import { EscapementError } from '../../base/errors.js';
import { writeWhole } from '../../base/files/output-file.js';
import { readAddresses } from '../../run/cells/front/addresses.js';
import { CONFIG_FILE, haproxyFiles, MODELS_FILE } from '../../run/cells/front/haproxy.js';
import { readCellMap } from '../../run/cells/read-map.js';
import type { CellsHaproxyArgs } from '../usage/cells-haproxy.js';

/** HAProxy takes no larger buffer without trouble, and 2 of them per connection are a lot of memory. */
const MOST_MESSAGE_BYTES = 256 * 1024 * 1024;

/** `escapement cells haproxy MAP`: a load balancer's configuration that sends each request to the cell of its model. */
export async function run(args: CellsHaproxyArgs): Promise<void> {
  const { host, out, 'http-port': httpPort, 'grpc-port': grpcPort, 'max-message': messageBytes } = args;
  if (httpPort === null) throw usage('--http-port off: controllers are checked and models listed over HTTP');
  if (!/^[0-9a-zA-Z.:_*[\]-]+$/.test(host)) throw usage(`--host ${host}: is no address`);
  if (messageBytes > MOST_MESSAGE_BYTES) throw usage('--max-message: at most 256MiB');
  const map = await readCellMap(args.map);
  const addresses = readAddresses(args.cell, map);
  const { config, models } = haproxyFiles(map, addresses, { host, httpPort, grpcPort, messageBytes });
  const files = { config: join(out, CONFIG_FILE), models: join(out, MODELS_FILE) };
  writeWhole(files.models, models);
  writeWhole(files.config, config);
  process.stdout.write(args.json ? `${JSON.stringify(files)}\n` : `${files.config}\n${files.models}\n`);
}

function usage(problem: string): EscapementError {
  return new EscapementError('E_USAGE', problem);
}
