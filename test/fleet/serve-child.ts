import { openPullHosts } from '../../src/fleet/pulls/pull-hosts.ts';
import { FleetServer } from '../../src/fleet/serve.ts';
import { Redactor } from '../../src/values/redactor.ts';
import { fleetFileIn, serverOptions } from './server-options.ts';

/*
 * Serves the fleet of a folder in a process, and prints events as one line each: node serve-child.ts FOLDER URL SECRETS
 */

const [folder = '', url = '', secretsJson = '{}'] = process.argv.slice(2);
const secrets = JSON.parse(secretsJson) as Readonly<Record<string, string>>;
const say = (event: object): void => void process.stdout.write(`${JSON.stringify(event)}\n`);

const log = { entry: (level: string, message: string) => say({ event: 'log', level, message }) };
const { hosts } = openPullHosts({
  fleet: fleetFileIn(folder, { FLEET_DATABASE_URL: url, ...secrets }),
  env: {},
  redactor: new Redactor(),
  log,
  signal: new AbortController().signal,
});
const server = await FleetServer.begin({
  ...serverOptions(folder, { url, home: 'child', secrets }),
  pullHosts: hosts,
  // The process learns only from the state that another process has its run.
  timing: { tick: 100, beat: 600_000, heartbeatTimeout: 30_000 },
  log,
  onRun: ({ address }, { report }) => say({ event: 'run', address, result: report?.result }),
});
say({ event: 'serving', id: server.id });
process.once('SIGTERM', () => {
  void server.stop('SIGTERM').then(() => {
    say({ event: 'stopped' });
    process.exit(0);
  });
});
