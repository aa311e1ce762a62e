import { FleetServer } from '../../src/fleet/serve.ts';
import { serverOptions } from './server-options.ts';

/* A process that serves the fleet of a folder, and says what it does a line each: node serve-child.ts FOLDER URL */

const [folder = '', url = ''] = process.argv.slice(2);
const say = (event: object): void => void process.stdout.write(`${JSON.stringify(event)}\n`);

const server = await FleetServer.begin({
  ...serverOptions(folder, { url, home: 'child' }),
  // It hears from nobody but the state that another process has its run.
  timing: { tick: 100, beat: 600_000, heartbeat: 30_000 },
  log: { entry: (level, message) => say({ event: 'log', level, message }) },
  onRun: ({ address }, { report }) => say({ event: 'run', address, result: report?.result }),
});
say({ event: 'serving', id: server.id });
process.once('SIGTERM', () => {
  void server.stop('SIGTERM').then(() => {
    say({ event: 'stopped' });
    process.exit(0);
  });
});
