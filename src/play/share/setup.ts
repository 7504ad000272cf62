/** What the page shows: one experiment, run by one policy or by two side by side. */
export interface Setup {
  /** Name of the experiment file, for messages. */
  readonly file: string;
  readonly text: string;
  /** On top of the text, as `--set` takes them: `slo=10ms`. */
  readonly overrides: readonly string[];
  /** Overrides of each lane on top of those, one lane or two: `policy.kind=edf`. */
  readonly lanes: readonly (readonly string[])[];
  /** Text or bytes by the paths that the experiment names. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** Digests of the lanes where the setup was shared after its run; a viewer has the same run if they are the same. */
  readonly digests?: readonly string[];
}

/** Experiments and files together; beyond, an address or a page grows too large to send. */
export const MOST_SETUP_BYTES = 4_000_000;
