/** What paths allow that take the method. */
export const ALLOW = { GET: 'GET, HEAD, OPTIONS', POST: 'POST, OPTIONS' } as const;

const GETS = /^(?:\*|\/v2\/?|\/v2\/health\/(?:live|ready)|\/v2\/models(?:\/stats)?)$/;
const OF_MODEL = /^\/v2\/models\/[^/]+(?:\/versions\/[^/]+)?(?:\/(ready|config|stats|infer))?$/;
const OF_REPOSITORY = /^\/v2\/repository\/(?:index|models\/[^/]+\/(?:load|unload))$/;

/**
 * What a path allows by its form; null: there is no such path. Whether its model exists is not looked at, as that would
 * be an answer to clients without a token.
 */
export function allowOf(path: string): (typeof ALLOW)[keyof typeof ALLOW] | null {
  if (OF_REPOSITORY.test(path)) return ALLOW.POST;
  if (GETS.test(path)) return ALLOW.GET;
  if (!OF_MODEL.test(path)) return null;
  return isInfer(path) ? ALLOW.POST : ALLOW.GET;
}

/** Whether a path asks for an inference, by its form. */
export function isInfer(path: string): boolean {
  return OF_MODEL.exec(path)?.[1] === 'infer';
}
