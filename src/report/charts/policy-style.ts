import { INK, SERIES_SHAPES } from './theme.js';

/** Style of a policy in every chart. */
interface PolicyStyle {
  readonly color: string;
  readonly dash: readonly number[];
  readonly shape: string;
}

/**
 * Paul Tol's "muted" qualitative scheme, distinct for any colour vision; its sand is darkened to be visible on white,
 * and grey added. Dash and shape repeat the distinction.
 */
const COLORS = [
  '#CC6677',
  '#332288',
  '#117733',
  '#66B5DE',
  '#882255',
  '#999933',
  '#44AA99',
  '#AA4499',
  '#777777',
  '#B89A3D',
];
const DASHES = [
  [1, 0],
  [4, 2],
  [1, 2],
  [7, 2, 1, 2],
];

/** One style per series: kinds differ in colour and shape, the series of a kind in dash. Our kind is black. */
export function policyStyles(
  series: readonly { readonly kind: string }[],
  ours: number | null,
): PolicyStyle[] {
  const ourKind = ours === null ? null : series[ours]!.kind;
  const others = [...new Set(series.map(({ kind }) => kind))].filter((kind) => kind !== ourKind);
  return series.map(({ kind }, i) => {
    const rank = others.indexOf(kind);
    const earlier = series.slice(0, i).filter((one) => one.kind === kind).length;
    return {
      color: kind === ourKind ? INK : COLORS[rank % COLORS.length]!,
      dash: DASHES[earlier % DASHES.length]!,
      shape: kind === ourKind ? 'circle' : SERIES_SHAPES[1 + (rank % (SERIES_SHAPES.length - 1))]!,
    };
  });
}
