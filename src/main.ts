#!/usr/bin/env node
/** The minimum Node version. Must match `engines` in package.json. */
const MIN_NODE = [22, 22] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < MIN_NODE[0] || (major === MIN_NODE[0] && minor < MIN_NODE[1])) {
  process.stderr.write(
    `voxform needs Node ${MIN_NODE.join('.')} or later; this is ${process.versions.node}.\nhint:  Install it, for example with nvm install 24, then install voxform again.\n`,
  );
  process.exitCode = 1;
} else {
  // Older Node versions cannot parse this module, so it is imported only after the check.
  const { start } = await import('./cli/start.ts');
  await start(process);
}
