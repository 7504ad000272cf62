/** Environment variable with the address that servers listen on where no flag says it: images of containers set it. */
export const HOST_VARIABLE = 'ESCAPEMENT_HOST';
