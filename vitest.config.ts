import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Simulations are CPU-bound and deterministic: slow machines need time, not retries.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
