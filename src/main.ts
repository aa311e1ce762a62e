#!/usr/bin/env node
const OLDEST = [22, 22] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `voxform needs Node ${OLDEST.join('.')} or later; this is ${process.versions.node}.\nhint:  Install it, for example with nvm install 24, then install voxform again.\n`,
  );
  process.exitCode = 1;
} else {
  // Not imported before it is known that this Node can read it.
  const { start } = await import('./cli/start.ts');
  await start(process);
}
