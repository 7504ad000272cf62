/** Values that span more than this factor get a logarithmic axis. */
const LOG_FACTOR = 20;
/** Margin around the outermost marks, as a share of the axis. */
const AIR = 0.02;
/** Largest number of values that get a tick each. */
const MOST_TICKS = 12;

/** Scale and axis for some values along x. */
export function numberScale(values: readonly number[], logFactor = LOG_FACTOR) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const isLog = low > 0 && high / low >= logFactor;
  const air = isLog ? (high / low) ** AIR : (high - low) * AIR || 1;
  const domain = isLog ? [low / air, high * air] : [low - air, high + air];
  return {
    scale: { type: isLog ? 'log' : 'linear', nice: false, domain, ...(isLog ? {} : { zero: false }) },
    axis: {
      grid: false,
      labelOverlap: 'greedy',
      labelSeparation: 6,
      format: '~f',
      ...(values.length <= MOST_TICKS ? { values } : { tickCount: 8 }),
    },
  };
}
