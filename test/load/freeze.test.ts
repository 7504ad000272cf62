import { describe, expect, it, onTestFinished } from 'vitest';
import { parseExperiment } from '../../src/config/load.js';
import { openTarget } from '../../src/load/open-target.js';
import type { LoadTarget } from '../../src/load/target.js';
import { playExperiment } from '../../src/run/load-experiment.js';
import { GrpcServer } from './grpc-server.js';
import { HttpServer } from './http-server.js';

const REQUESTS = 60;
/** Answered before the server freezes. */
const ANSWERED = 10;
const EXPERIMENT = `
models: { kind: fit, name: a, parameters: 1M }
workload: { kind: fixed, rate: 100/s, duration: ${REQUESTS * 10}ms }
slo: 100ms
`;

/** Answers the first requests, then none until the signal to go on, then all. */
class Freeze {
  private asked = 0;
  private readonly thaw: Promise<void>;
  goOn = () => {};

  constructor() {
    this.thaw = new Promise((resolve) => {
      this.goOn = resolve;
    });
  }

  async answered(): Promise<void> {
    if (++this.asked > ANSWERED) await this.thaw;
  }
}

const SERVERS: Readonly<Record<string, (freeze: Freeze) => Promise<{ url: string }>>> = {
  HTTP: (freeze) =>
    HttpServer.open({ infer: (inference) => void freeze.answered().then(() => inference.answer(200)) }),
  gRPC: (freeze) => GrpcServer.open({ infer: async () => freeze.answered().then(() => 0) }),
};

describe.each(Object.entries(SERVERS))('a server over %s that freezes', (_, serve) => {
  it.each([1, 2])(
    'shows in all requests that should have been sent meanwhile (%i connections)',
    async (connections) => {
      const freeze = new Freeze();
      const { url } = await serve(freeze);
      const target = await openTarget(url, { models: ['a'], seed: 1, connections });
      onTestFinished(() => target.close());
      let sent = 0;
      const counting: LoadTarget = {
        name: url,
        waited: 0,
        close: () => {},
        send: (request, done) => {
          target.send(request, done);
          // Nothing is answered before the last request is due.
          if (++sent === REQUESTS) freeze.goOn();
        },
      };
      const experiment = await parseExperiment(EXPERIMENT, 'freeze.yaml');
      const { summary } = (await playExperiment(experiment, counting)).result;
      const frozen = REQUESTS - ANSWERED;
      expect(summary.requests).toMatchObject({ offered: REQUESTS, error: 0, timeout: 0 });
      // The request that is due when it freezes waits for all that are due after it, the next for 10 ms less, and so on.
      expect(summary.executedLatencyMs.p99).toBeGreaterThanOrEqual(0.97 * 10 * (frozen - 2));
      expect(summary.executedLatencyMs.p50).toBeGreaterThanOrEqual(0.97 * 10 * (frozen - REQUESTS / 2 - 1));
      expect(summary.requests.late).toBeGreaterThanOrEqual(frozen - 10);
    },
  );
});
