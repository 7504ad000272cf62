export {
  comparisonCharts,
  type NamedChart,
  policyCharts,
  runCharts,
  sweepCharts,
} from './charts/chart-sets.js';
export type { ChartSpec } from './charts/theme.js';
export type { ComparedFigure, NamedRun } from './compare/compare.js';
export { type ComparedRun, type Comparison, compareRuns } from './compare/compare.js';
export {
  checkTolerances,
  parseTolerance,
  type Tolerance,
  type ToleranceResult,
} from './compare/tolerance.js';
export { renderPng, renderSvg } from './html/render.js';
export { type LoadedResults, loadResults } from './load.js';
export {
  writeComparison,
  writePolicyComparison,
  writeRunReport,
  writeSweepReport,
} from './pages/write-results.js';
export { comparePolicies, type NamedSweep, type PolicyComparison } from './policies/compare.js';
export { type CommonChoice, commonChoice, type Recommendation, recommend } from './study/analyze.js';
export type { GroupPoint, Point } from './study/points.js';
export { comparisonText, policiesText, summaryText } from './terminal/summary-text.js';
