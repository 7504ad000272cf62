import { lookup } from 'node:dns/promises';
import { Client, logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { clientCredentials } from './credentials.js';
import { GuardedServer } from './guarded-server.js';
import type { Dialed, DialOptions, Network } from './network.js';

// The library also writes errors that it returns to stderr.
setLogVerbosity(logVerbosity.NONE);

/** gRPC between the processes of a cluster. */
export const REAL_NETWORK: Network = {
  dial,
  server: (options) => new GuardedServer(options),
  lookup: addressesByName,
};

function dial<Sent>(options: DialOptions<Sent>): Dialed<Sent> {
  const { address, tls, serverName, peer, method, headers, maxMessageBytes } = options;
  const client = new Client(address, clientCredentials(tls, peer), {
    ...(serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName }),
    'grpc.max_send_message_length': -1,
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
    'grpc.use_local_subchannel_pool': 1,
    // Only the caller decides when something is sent again.
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0,
  });
  const bytes = (received: Buffer) => received;
  const stream = client.makeBidiStreamRequest(method.path, method.requestSerialize, bytes, headers);
  return {
    stream,
    hangUp: () => {
      stream.cancel();
      client.close();
    },
  };
}

/** Addresses of one family only, since a controller may have both: IPv4 if there are any. */
async function addressesByName(host: string): Promise<readonly string[]> {
  const all = await lookup(host, { all: true });
  const older = all.filter(({ family }) => family === 4);
  return (older.length > 0 ? older : all).map(({ address }) => address);
}

/** Data in flight before the other side has to acknowledge it: more than a message of a usual batch. */
const FLOW_CONTROL_WINDOW_BYTES = 1024 * 1024;
