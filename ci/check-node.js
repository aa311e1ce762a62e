// Fails if Node is too old for voxform. Runs first in a global installation, and before the pre-commit hooks. `npm ci` in a clone installs
// its own Node for scripts, so an older one is allowed there.

import { readFileSync } from 'node:fs';

const { npm_lifecycle_event: event, npm_config_global: isGlobal, npm_config_user_agent: agent } = process.env;
// npm puts the Node of the clone first on the PATH of a script, but the command will run on npm's Node.
const [, current = process.versions.node] = (event === undefined ? null : /\bnode\/v(\S+)/.exec(agent ?? '')) ?? [];
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const oldest = engines.node.replace(/^>=(\d+\.\d+).*/, '$1');
const [major = 0, minor = 0] = current.split('.').map(Number);
const [oldestMajor = 0, oldestMinor = 0] = oldest.split('.').map(Number);
const isOld = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);

if (isOld && (event !== 'preinstall' || isGlobal === 'true')) {
  process.stderr.write(
    `voxform needs Node ${oldest} or later; this is ${current}.\nhint:  Install it, for example with nvm install 24, then run the command again.\n`,
  );
  process.exitCode = 1;
}
