import { InvalidArgumentError, Option } from 'commander';
import { reportFormatNames } from '../../output/formats/index.ts';
import { syncStatuses } from '../../runs/sync-status.ts';
import { type Installation, installationForms, parseInstallation } from '../actions/ci-workflow.ts';
import type { CommandTable } from '../context.ts';
import {
  apiKeyOption,
  collectItems,
  collectText,
  durationOption,
  outputOption,
  parseSeconds,
  withApproval,
  withFull,
  withGuards,
  withLock,
  withOlderState,
  withPage,
  withPlanning,
  withPlatform,
  withPolicies,
  withReplace,
  withSelection,
  withWaiver,
  withWorkspaces,
} from '../flags.ts';

export const mainCommands = {
  init: {
    summary: 'Create a new project',
    traits: { withoutProject: true },
    define: (command, perform) =>
      command
        .description(
          'Create a new project: voxform.yaml, a manifest of each kind, JSON Schemas, and settings for the editor, Git and CI. Existing files are kept. In a repository with a remote origin, the state is stored in a ref of origin; otherwise, in a file.',
        )
        .argument('[dir]', 'Folder', '.')
        .addOption(
          new Option('--install <source>', `Where CI gets voxform from: ${installationForms()}`).argParser(
            parseInstall,
          ),
        )
        .action(perform(async () => (await import('../actions/init.ts')).init)),
  },
  validate: {
    summary: 'Check the manifests offline',
    traits: { acceptsWorkspaces: true },
    define: (command, perform) =>
      withPolicies(withWorkspaces(command))
        .description(
          'Check the project file, all manifests and the policies, and report every problem at once. Needs no API key and no network.',
        )
        .addOption(outputOption(['text', 'json', 'junit', 'github']))
        .option('--secrets', 'Also check that every secret and environment variable is set')
        .action(perform(async () => (await import('../actions/validate.ts')).validate)),
  },
  plan: {
    summary: 'Show what apply would change',
    traits: { acceptsWorkspaces: true },
    define: (command, perform) =>
      withFull(withWaiver(withWorkspaces(withPlanning(command))))
        .description(
          'Show what apply would change. Reads the platform and the state, takes no lock, and changes nothing.',
        )
        .addOption(outputOption(reportFormatNames))
        .addOption(apiKeyOption())
        .option('--out <file>', 'Save the plan, for voxform apply FILE')
        .addOption(durationOption('--lock-timeout', 'Accepted for compatibility with apply; plan takes no lock', '0s'))
        .option('--detailed-exitcode', 'Exit with 2 when there are changes')
        .action(perform(async () => (await import('../actions/plan.ts')).plan)),
  },
  apply: {
    summary: 'Plan, ask for approval, and apply',
    traits: { acceptsWorkspaces: true },
    define: (command, perform) => {
      withFull(withWaiver(withLock(withPlanning(command))))
        .description(
          'Plan, ask for approval, and apply. A saved plan is applied exactly as it is, without a prompt, or refused if anything has changed since.',
        )
        .argument('[plan-file]', 'Plan saved with voxform plan --out FILE')
        .addOption(outputOption(reportFormatNames))
        .addOption(new Option('--all-workspaces').hideHelp());
      withApproval(command).action(perform(async () => (await import('../actions/apply.ts')).applyChanges));
    },
  },
  show: {
    summary: 'Show a saved plan',
    traits: { withoutProject: true },
    define: (command, perform) =>
      withFull(command)
        .description(
          'Show a plan saved with voxform plan --out FILE, in any format. Sends no request and needs no API key. Only an encrypted plan needs its project and identity.',
        )
        .argument('<plan-file>', 'Saved plan')
        .addOption(outputOption(reportFormatNames))
        .action(perform(async () => (await import('../actions/show.ts')).show)),
  },
  drift: {
    summary: 'Show what changed on the platform since the last apply',
    traits: { acceptsWorkspaces: true },
    define: (command, perform) =>
      withFull(withWorkspaces(withPlatform(withSelection(command))))
        .description('Show what changed on the platform since the last apply. Changes nothing.')
        .addOption(apiKeyOption())
        .option('--detailed-exitcode', 'Exit with 2 when there is drift', true)
        .option('--no-detailed-exitcode', 'Exit with 0 when there is drift')
        .addOption(outputOption(reportFormatNames))
        .action(perform(async () => (await import('../actions/drift.ts')).drift)),
  },
  status: {
    summary: 'Show the status of each resource',
    traits: { acceptsWorkspaces: true },
    define: (command, perform) =>
      withWorkspaces(withPlatform(withSelection(command)))
        .description(
          'Show the status of each resource: in sync, drifted, not applied, manual or unknown, with the number of its unverified fields and the changes that publishing its draft would make. Changes nothing.',
        )
        .addOption(outputOption(['text', 'json']))
        .option('--kind <kinds...>', 'Only resources of these kinds', collectItems)
        .addOption(
          new Option('--only <statuses...>', 'Only resources with this status').choices(
            syncStatuses.map((status) => status.replace(' ', '-')),
          ),
        )
        .option('--detailed-exitcode', 'Exit with 2 when a resource is not in sync')
        .option('--wait-published', 'Wait until every agent is published; exit with 1 on timeout')
        .addOption(
          new Option('--timeout <duration>', 'Maximum wait of --wait-published')
            .argParser(parseSeconds)
            .default(undefined, '10m'),
        )
        .action(perform(async () => (await import('../actions/status.ts')).status)),
  },
  watch: {
    summary: 'Plan or apply continuously',
    define: (command, perform) => {
      withPolicies(withPlatform(command))
        .description(
          'Plan when the manifests change and on an interval, and report new differences. With --mode apply, also apply them. Press Ctrl-C to stop. SIGHUP starts a run immediately.',
        )
        .addOption(
          new Option('--mode <mode>', 'Only report, or also apply').choices(['report', 'apply']).default('report'),
        )
        .option('--auto-approve', 'Required with --mode apply, which never prompts')
        .addOption(
          new Option(
            '--on-drift <action>',
            'Maintain a pull request that accepts drift, instead of correcting the drift',
          ).choices(['pull-request']),
        )
        .addOption(durationOption('--interval', 'Time between runs', '5m'))
        .option('--git <url>', 'Git repository with the project')
        .option('--ref <ref>', 'Branch or tag (default: main)')
        .option('--path <dir>', 'Project folder in the repository (default: its root)')
        .option(
          '--allow-dir <dir>',
          'Folder outside the project that secrets_dir or state.path may use (repeatable)',
          collectText,
        );
      withPage(command, '/healthz, /readyz, /status, /metrics and POST /reconcile');
      const retryHelp = 'Pause after a failed run; doubles with each failure';
      withOlderState(withGuards(withReplace(command)))
        .addOption(durationOption('--lock-timeout', 'How long to wait for the lock', '30s'))
        .addOption(durationOption('--first-retry', retryHelp, '5s'))
        .addOption(durationOption('--longest-retry', 'Maximum pause after failed runs', '5m'))
        .addOption(durationOption('--grace', 'Time to finish requests in flight on exit', '25s'))
        .action(
          perform(
            async () => (await import('../actions/watch.ts')).watch,
            // The settings of a repository must not override the operator's settings.
            ({ git }) => ({ ownRuns: true, withoutProject: git !== undefined }),
          ),
        );
    },
  },
} satisfies CommandTable;

function parseInstall(text: string): Installation {
  const installation = parseInstallation(text);
  if (installation === undefined) throw new InvalidArgumentError(`Expected ${installationForms()}.`);
  return installation;
}
