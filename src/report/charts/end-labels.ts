import { spread } from './spread.js';
import { MUTED, seriesStyle } from './theme.js';

/** Height of one label, px. */
const GAP = 18;

interface EndLabels {
  /** Names of the series by rank. */
  readonly names: readonly string[];
  /** End of each line, as a share of the height: 0 is the bottom. null: the series has no line. */
  readonly ends: readonly (number | null)[];
  /** Meaning of the series, e.g. SLO; may be empty. */
  readonly title: string;
  /** Size of the plot, px. */
  readonly width: number;
  readonly height: number;
}

/**
 * Legend of a line chart, to the right of the plot: each series' name and sample next to the end of its line, as near
 * as the neighbours allow, so that readers need not match colours across the page.
 */
export function endLabels({ names, ends, title, width, height }: EndLabels): object[] {
  const present = names.map((_, rank) => rank).filter((rank) => ends[rank] !== null);
  if (present.length === 0) return [];
  const wanted = present.map((rank) => (1 - (ends[rank] as number)) * height);
  const heights = spread(wanted, GAP, title === '' ? 6 : 26, height - 6);
  const samples = present.flatMap((rank, i) => {
    const { color, dash, shape } = seriesStyle(rank);
    const y = heights[i] as number;
    const at = (x: number) => ({ x: { value: width + x }, y: { value: y } });
    return [
      {
        mark: { type: 'rule', strokeWidth: 2.2, strokeDash: dash, color },
        encoding: { ...at(12), x2: { value: width + 44 } },
      },
      { mark: { type: 'point', filled: true, size: 62, opacity: 1, color, shape }, encoding: at(28) },
      {
        mark: { type: 'text', align: 'left', baseline: 'middle', color, text: names[rank] },
        encoding: at(52),
      },
    ];
  });
  const head = {
    mark: { type: 'text', align: 'left', baseline: 'middle', color: MUTED, text: title },
    encoding: { x: { value: width + 12 }, y: { value: Math.min(...heights) - 20 } },
  };
  return [...samples, ...(title === '' ? [] : [head])].map((layer) => ({ data: { values: [{}] }, ...layer }));
}

/** Encodings that give the series of a chart, named in `field`, their styles. */
export function seriesEncoding(field: string, names: readonly string[]) {
  return (part: 'color' | 'dash' | 'shape') => {
    const scale = { domain: names, range: names.map((_, rank) => seriesStyle(rank)[part]) };
    return { field, type: 'nominal', sort: null, legend: null, scale };
  };
}
