import type { Knob } from './knobs.js';

interface SliderProps {
  readonly knob: Knob;
  readonly onChoose: (choice: string) => void;
}

/** A knob with its value. */
export function Slider({ knob, onChoose }: SliderProps) {
  const { label, hint, choices, value } = knob;
  return (
    <label class="knob" title={hint}>
      <span>{label}</span>
      <output>{value}</output>
      <input
        type="range"
        min={0}
        max={choices.length - 1}
        value={choices.indexOf(value)}
        aria-label={`${label}: ${hint}`}
        aria-valuetext={value}
        onInput={({ currentTarget }) => onChoose(choices[Number(currentTarget.value)]!)}
      />
    </label>
  );
}
