/**
 * Environment variable with the address that servers listen on where no flag says it: images of containers set it. Apart from
 * the settings, so that help does not load their schemas.
 */
export const HOST_VARIABLE = 'ESCAPEMENT_HOST';
