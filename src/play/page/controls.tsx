import { POLICIES } from '../../policies/registry.js';
import type { Setup } from '../share/address.js';
import { effectiveTree } from './effective.js';
import { knobsOf } from './knobs.js';
import { AHEADS, policyOf, withKind, withScheduleAhead, withSecondLane } from './policy-choice.js';
import { Slider } from './slider.jsx';

interface ControlsProps {
  readonly setup: Setup;
  readonly onChange: (setup: Setup) => void;
}

const NONE = 'none';

/** Policies of both lanes, and shared settings. */
export function Controls({ setup, onChange }: ControlsProps) {
  const knobs = knobsOf(effectiveTree(setup, 0));
  return (
    <aside aria-label="Settings">
      <LaneControls setup={setup} lane={0} onChange={onChange} />
      <LaneControls setup={setup} lane={1} onChange={onChange} />
      <h2>Both</h2>
      {knobs.map((knob) => (
        <Slider key={knob.label} knob={knob} onChoose={(choice) => onChange(knob.set(setup, choice))} />
      ))}
    </aside>
  );
}

function LaneControls({ setup, lane, onChange }: ControlsProps & { readonly lane: number }) {
  const isShown = lane < setup.lanes.length;
  const { kind, scheduleAhead } = isShown ? policyOf(setup, lane) : { kind: NONE, scheduleAhead: null };
  const choose = (chosen: string) => {
    if (lane === 0) onChange(withKind(setup, 0, chosen));
    else onChange(withSecondLane(setup, chosen === NONE ? null : chosen));
  };
  const name = lane === 0 ? 'A' : 'B';
  return (
    <fieldset class={`lane-${'ab'[lane]}`}>
      <legend>{name}</legend>
      <label>
        Policy
        <select value={kind} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {lane === 1 ? <option value={NONE}>none</option> : null}
          {POLICIES.map((entry) => (
            <option key={entry.kind} value={entry.kind}>
              {entry.kind}
            </option>
          ))}
        </select>
      </label>
      {scheduleAhead === null ? null : (
        <label>
          schedule_ahead
          <select
            value={scheduleAhead}
            onChange={({ currentTarget }) => onChange(withScheduleAhead(setup, lane, currentTarget.value))}
          >
            {[...new Set([scheduleAhead, ...AHEADS])].map((ahead) => (
              <option key={ahead} value={ahead}>
                {ahead}
              </option>
            ))}
          </select>
        </label>
      )}
    </fieldset>
  );
}
