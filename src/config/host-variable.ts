/**
 * Environment variable with the default listen address of servers, set by container images. Apart from the settings, so
 * that help does not load their schemas.
 */
export const HOST_VARIABLE = 'ESCAPEMENT_HOST';
