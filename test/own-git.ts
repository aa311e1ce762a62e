/* Git as the tests set it up: not this person's settings (keys to sign with, hooks), nor the repository whose hook runs the tests. */

for (const name of Object.keys(process.env)) if (name.startsWith('GIT_')) delete process.env[name];
process.env.GIT_CONFIG_GLOBAL = '/dev/null';
process.env.GIT_CONFIG_NOSYSTEM = '1';
