/*
 * What queueing theory says of stations whose answers are known. Times in units of the caller's choice; `load` is the offered
 * load a = arrival rate × mean service time, in Erlang.
 */

/** Share of requests lost by `servers` without a waiting room, whatever the distribution of service times (Erlang 1917). */
export function erlangB(servers: number, load: number): number {
  let blocked = 1;
  for (let n = 1; n <= servers; n++) blocked = (load * blocked) / (n + load * blocked);
  return blocked;
}

/** Share of requests that wait in M/M/k (Erlang 1917). */
export function erlangC(servers: number, load: number): number {
  const blocked = erlangB(servers, load);
  return blocked / (1 - (load / servers) * (1 - blocked));
}

/** Mean wait in M/M/k. */
export function waitMMk(servers: number, load: number, service: number): number {
  return (erlangC(servers, load) * service) / (servers - load);
}

/** The time that a share `q` of the requests of M/M/1 do not exceed from arrival to answer: it is exponential. */
export function responsePercentileMM1(q: number, load: number, service: number): number {
  return (-Math.log(1 - q) * service) / (1 - load);
}

/** Mean wait in M/G/1; `variation`: coefficient of variation of service times (Pollaczek 1930, Khinchine 1932). */
export function waitMG1(load: number, service: number, variation: number): number {
  return (load * service * (1 + variation ** 2)) / (2 * (1 - load));
}

/** Share of the requests of M/D/1 that wait at most `wait` (Erlang 1909). Its terms alternate: good for a few services. */
export function waitShareMD1(wait: number, load: number, service: number): number {
  const rate = load / service;
  let sum = 0;
  for (let k = 0; k * service <= wait; k++) {
    const x = rate * (wait - k * service);
    sum += ((-1) ** k * x ** k * Math.exp(x)) / factorial(k);
  }
  return (1 - load) * sum;
}

/** The wait that a share `q` of the requests of M/D/1 do not exceed; `q` above the share that does not wait. */
export function waitPercentileMD1(q: number, load: number, service: number): number {
  let low = 0;
  let high = 20 * service;
  while (high - low > 1e-9 * service) {
    const middle = (low + high) / 2;
    if (waitShareMD1(middle, load, service) < q) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * Mean wait in M/D/k. What is there after a service time is what had to wait, and what came (Crommelin 1932): the number of requests
 * at multiples of the service time is a Markov chain, whose stationary distribution is that of any moment.
 */
export function waitMDk(servers: number, load: number, service: number): number {
  const most = 60 * servers;
  const came = poisson(load, most);
  const left = (now: number) => Math.max(0, now - servers);
  const share = stationary(most, (now, next) => came[next - left(now)] ?? 0);
  const waiting = share.reduce((sum, p, n) => sum + p * left(n), 0);
  return (waiting * service) / load;
}

/**
 * Mean wait at a server that takes all that waits, at most `most` requests, as one batch of constant duration, and starts alone
 * what comes while it is idle (Bailey 1954, Downton 1955). The number left behind by a batch is a Markov chain. A request that comes
 * during a batch waits for its end, half a batch on average, and for whole batches if it is not in the next.
 */
export function waitBatchService(most: number, load: number, batch: number): number {
  const states = 40 * most;
  const came = poisson(load, states);
  const kept = (left: number) => Math.max(0, left - most);
  const share = stationary(states, (left, next) => came[next - kept(left)] ?? 0);
  // Of a cycle: a batch, and before it the wait for a request where nothing was left.
  const perBatch = load + share[0]!;
  const leftWaiting = share.reduce((sum, p, left) => sum + p * kept(left), 0);
  // Time that requests of one batch's duration spend waiting: those kept, all of it; those that come, half of it.
  return ((leftWaiting + load / 2) * batch) / perBatch;
}

/** Stationary distribution of a chain over 0…most, by repeated steps. */
function stationary(most: number, probability: (now: number, next: number) => number): Float64Array {
  const step = Array.from({ length: most + 1 }, (_, now) =>
    Float64Array.from({ length: most + 1 }, (_, next) => probability(now, next)),
  );
  let share = new Float64Array(most + 1);
  share[0] = 1;
  for (let change = 1; change > 1e-13; ) {
    const next = new Float64Array(most + 1);
    for (let from = 0; from <= most; from++)
      for (let to = 0; to <= most; to++) next[to]! += share[from]! * step[from]![to]!;
    const total = next.reduce((sum, p) => sum + p, 0);
    change = 0;
    for (let n = 0; n <= most; n++) {
      next[n]! /= total;
      change += Math.abs(next[n]! - share[n]!);
    }
    share = next;
  }
  return share;
}

function poisson(mean: number, most: number): Float64Array {
  const share = new Float64Array(most + 1);
  share[0] = Math.exp(-mean);
  for (let n = 1; n <= most; n++) share[n] = (share[n - 1]! * mean) / n;
  return share;
}

function factorial(n: number): number {
  let product = 1;
  for (let i = 2; i <= n; i++) product *= i;
  return product;
}
