import { REFUSALS, Refusal } from '../../frontend/refusal.js';
import { TokenCheck } from '../../frontend/token.js';
import {
  RECORDING_MODES,
  type RecordingControl,
  type RecordingMode,
} from '../../recording/recording-control.js';
import { json, type Reply, type Route, type RouteRequest } from './route.js';

const DEFAULT_MODE: RecordingMode = 'all';

/**
 * `POST /recording/start[?mode=operators|all]` and `POST /recording/stop`. Because they write files, they ask for the token
 * of the server where it has one.
 */
export function recordingRoutes(control: RecordingControl, token: string | null): Route[] {
  const check = new TokenCheck(token);
  const guarded = (path: string, answer: (request: RouteRequest) => Reply | Promise<Reply>): Route => ({
    path,
    method: 'POST',
    answer: async (request) => {
      try {
        check.admit(request.authorization);
        return await answer(request);
      } catch (error) {
        const status = error instanceof Refusal ? REFUSALS[error.kind].http : 500;
        return json(status, { error: (error as Error).message });
      }
    },
  });
  return [
    guarded('/recording/start', ({ query }) => start(control, query.get('mode') ?? DEFAULT_MODE)),
    guarded('/recording/stop', () => stop(control)),
  ];
}

function start(control: RecordingControl, wanted: string): Reply {
  const mode = RECORDING_MODES.find((each) => each === wanted);
  if (mode === undefined) return json(400, { error: `mode must be ${RECORDING_MODES.join(' or ')}` });
  if (control.recording)
    return json(409, { error: 'is being recorded already: POST /recording/stop writes it' });
  control.start(mode);
  return json(200, { recording: true, mode });
}

async function stop(control: RecordingControl): Promise<Reply> {
  const written = control.recording ? await control.stop() : null;
  return written === null
    ? json(409, { error: 'nothing is being recorded: POST /recording/start begins' })
    : json(200, written);
}
