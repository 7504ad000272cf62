import { MUTED } from './theme.js';

/** A rule across a plot with a label at its end. `axis`: encoding of its position, a field of `at`. */
export function labelledRule(
  axis: { readonly x: object } | { readonly y: object },
  at: object,
  rule: object,
  label: object,
) {
  const layer = { data: { values: [at] }, encoding: axis };
  return [
    { ...layer, mark: { type: 'rule', color: MUTED, ...rule } },
    { ...layer, mark: { type: 'text', color: MUTED, ...label } },
  ];
}
