import { REFUSALS, Refusal } from '../door/refusal.js';
import { TokenCheck } from '../door/token.js';
import { PROFILE_MODES, type ProfileControl, type ProfileMode } from '../profiler/profile-control.js';
import { json, type Reply, type Route, type RouteRequest } from './route.js';

const DEFAULT_MODE: ProfileMode = 'all';

/**
 * `POST /profile/start[?mode=operators|all]` and `POST /profile/stop`. Because they write files, they ask for the token
 * of the server where it has one.
 */
export function profileRoutes(control: ProfileControl, token: string | null): Route[] {
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
    guarded('/profile/start', ({ query }) => start(control, query.get('mode') ?? DEFAULT_MODE)),
    guarded('/profile/stop', () => stop(control)),
  ];
}

function start(control: ProfileControl, wanted: string): Reply {
  const mode = PROFILE_MODES.find((each) => each === wanted);
  if (mode === undefined) return json(400, { error: `mode must be ${PROFILE_MODES.join(' or ')}` });
  if (control.recording)
    return json(409, { error: 'is being recorded already: POST /profile/stop writes it' });
  control.start(mode);
  return json(200, { recording: true, mode });
}

async function stop(control: ProfileControl): Promise<Reply> {
  const written = control.recording ? await control.stop() : null;
  return written === null
    ? json(409, { error: 'nothing is being recorded: POST /profile/start begins' })
    : json(200, written);
}
