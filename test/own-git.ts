/*
 * Configures git for tests: without the user's settings (signing keys, hooks) and without the repository whose hook
 * runs the tests.
 */

for (const name of Object.keys(process.env)) if (name.startsWith('GIT_')) delete process.env[name];
process.env.GIT_CONFIG_GLOBAL = '/dev/null';
process.env.GIT_CONFIG_NOSYSTEM = '1';
