/** Colors of reports and pages, `#rrggbb`. Text has a contrast of at least 4.5 to its background (WCAG 2.2, 1.4.3). */
export const LIGHT = {
  ink: '#1b2430',
  muted: '#5b6673',
  line: '#dde3ea',
  ground: '#f5f7fa',
  card: '#ffffff',
  /** Highlighted values, links and buttons. */
  strong: '#0b4f9e',
  onStrong: '#ffffff',
  alert: '#8a1c16',
  alertGround: '#fdecea',
  /** Two series side by side. */
  laneA: '#0b4f9e',
  laneB: '#b4430c',
} as const;

type Colors = Readonly<Record<keyof typeof LIGHT, string>>;

export const DARK: Colors = {
  ink: '#e4e9ef',
  muted: '#9aa7b5',
  line: '#2d3642',
  ground: '#0f1419',
  card: '#171d24',
  strong: '#7db4f2',
  onStrong: '#0f1419',
  alert: '#ffb4ab',
  alertGround: '#3a1614',
  laneA: '#7db4f2',
  laneB: '#f0a35c',
};

/** Series of charts. All are dark enough for text on white. */
export const SERIES_COLORS: readonly string[] = [
  LIGHT.laneA,
  LIGHT.laneB,
  '#0f6b5c',
  '#7a2f9e',
  '#8a6100',
  '#b0195e',
  '#374151',
  '#0a7ea4',
  '#6b4226',
  '#4a6b00',
];

/**
 * Areas, one color per model, for any color vision (Okabe and Ito, 2008, without black, which is invisible on a dark
 * background, and blue, on which black text is hard to read).
 */
export const MODEL_COLORS: readonly string[] = [
  '#56b4e9',
  '#e69f00',
  '#009e73',
  '#f0e442',
  '#cc79a7',
  '#d55e00',
];

/** A style sheet with the colors as variables, such as `--alert-ground`, light or dark as the system prefers. */
export const COLOR_STYLE = `:root { color-scheme: light dark; ${variables(LIGHT)} }
@media (prefers-color-scheme: dark) { :root { ${variables(DARK)} } }
`;

function variables(colors: Colors): string {
  return Object.entries(colors)
    .map(([name, color]) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}: ${color};`)
    .join(' ');
}
