import { Option } from 'commander';
import { roles } from '../../operator/roles.ts';
import { workspaceStatuses } from '../../operator/workspace-status.ts';
import { reportFormatNames } from '../../output/formats/index.ts';
import { duration, outputOption, withFull } from '../flags.ts';
import { withPage } from '../page-flags.ts';
import type { CommandTable } from '../perform.ts';

const ADDRESS = 'Address, SOURCE/PROJECT:WORKSPACE';
const ADDRESSES =
  'Addresses, or patterns as in fleet.yaml, in which * stands for any text: "voices/*:staging"';
const PLAN = 'Id of the plan, or its beginning; voxform fleet show ADDRESS prints it';
const withoutProject = { withoutProject: true };

/** Commands for many workspaces, run by any number of processes with one database. */
export const fleetCommands = {
  fleet: {
    summary: 'Reconcile many workspaces',
    define: (fleet, perform) => {
      fleet
        .description(
          'Reconcile the workspaces of a fleet.yaml, with any number of processes over one PostgreSQL database.',
        )
        .option('--file <file>', 'Fleet file', 'fleet.yaml');
      const actions = () => import('../actions/fleet.ts');

      withPage(fleet.command('serve'), '/healthz, /readyz, /status and /metrics')
        .summary('Serve the fleet')
        .description(
          'Find the workspaces of the fleet and reconcile each on its interval and when its project changes. Start as many processes as needed. Press Ctrl-C to stop.',
        )
        .addOption(
          duration('--grace', 'Time to finish requests in flight on exit', { seconds: 25, as: '25s' }),
        )
        .action(
          perform(async () => (await import('../actions/fleet-serve.ts')).serveFleet, {
            ...withoutProject,
            ownRuns: true,
          }),
        );
      fleet
        .command('status')
        .summary('Show the status of the fleet')
        .description(
          'Show how many workspaces have each status, what needs a person, how old all of it is, and the processes. With an address, show one workspace.',
        )
        .argument('[address]', ADDRESS)
        .addOption(outputOption(['text', 'json']))
        .addOption(
          new Option('--only <statuses...>', 'Only workspaces with this status').choices(workspaceStatuses),
        )
        .option(
          '--detailed-exitcode',
          'Exit with 2 when a workspace is not in sync, of those that an address or --only names',
        )
        .action(perform(async () => (await actions()).fleetStatus, withoutProject));
      fleet
        .command('run')
        .summary('Run workspaces before their turn')
        .description('Ask for a run of these workspaces before their turn. Does not wait for it.')
        .argument('<addresses...>', ADDRESSES)
        .action(perform(async () => (await actions()).fleetRun, withoutProject));
      fleet
        .command('pause')
        .summary('Pause workspaces')
        .description(
          'Begin no more runs of these workspaces until they are resumed. A run in progress continues.',
        )
        .argument('<addresses...>', ADDRESSES)
        .option('--because <text>', 'Reason, for fleet status')
        .action(perform(async () => (await actions()).fleetPause, withoutProject));
      fleet
        .command('resume')
        .summary('Resume paused workspaces')
        .description('Run paused workspaces again, at once and then on their interval.')
        .argument('<addresses...>', ADDRESSES)
        .action(perform(async () => (await actions()).fleetResume, withoutProject));
      withFull(fleet.command('show'))
        .summary('Show a waiting plan')
        .description(
          'Show the plan of a workspace that waits for approval, was approved, or was rejected last, in any format.',
        )
        .argument('<address>', ADDRESS)
        .addOption(outputOption(reportFormatNames))
        .action(perform(async () => (await actions()).fleetShow, withoutProject));
      fleet
        .command('approve')
        .summary('Approve a waiting plan')
        .description(
          'Approve a waiting plan of a workspace in mode approve: the next run applies exactly that plan. If anything changed since, it makes a new one, which needs its own approval.',
        )
        .argument('<address>', ADDRESS)
        .argument('<plan>', PLAN)
        .action(perform(async () => (await actions()).fleetApprove, withoutProject));
      fleet
        .command('reject')
        .summary('Reject a waiting plan')
        .description(
          'Reject a waiting plan, so that it does not ask again; another plan does. It can still be approved afterwards.',
        )
        .argument('<address>', ADDRESS)
        .argument('<plan>', PLAN)
        .option('--because <text>', 'Reason, for fleet status')
        .action(perform(async () => (await actions()).fleetReject, withoutProject));
      const tokens = () => import('../actions/fleet-token.ts');
      const token = fleet
        .command('token')
        .summary('Manage who may sign in to the page')
        .description('Add, list and remove the tokens with which people sign in to the page of fleet serve.');
      token
        .command('add')
        .summary('Add a token')
        .description('Add a token and print it. Only a slow hash of it is kept, so it cannot be shown again.')
        .argument('<name>', 'Name of its owner, which the history shows')
        .addOption(
          new Option(
            '--role <role>',
            'viewer reads, approver also runs, approves and rejects, admin does everything',
          )
            .choices(roles)
            .makeOptionMandatory(),
        )
        .action(perform(async () => (await tokens()).tokenAdd, withoutProject));
      token
        .command('list')
        .summary('List the tokens')
        .description('List the owners of tokens and their roles.')
        .addOption(outputOption(['text', 'json']))
        .action(perform(async () => (await tokens()).tokenList, withoutProject));
      token
        .command('remove')
        .summary('Remove a token')
        .description('Remove a token and end the sessions of its owner.')
        .argument('<name>', 'Name of its owner')
        .action(perform(async () => (await tokens()).tokenRemove, withoutProject));
      fleet
        .command('exec')
        .summary('Run a command on one workspace')
        .description(
          'Run a command on one workspace, with its project and the state that the fleet keeps: plan, import, state resolve and others. The lock of the state keeps other runs away meanwhile. Put flags of the command behind --.',
        )
        .argument('<address>', ADDRESS)
        .argument('<command...>', 'Command without voxform')
        .action(
          perform(async () => (await import('../actions/fleet-exec.ts')).fleetExec, {
            ...withoutProject,
            ownRuns: true,
          }),
        );
      fleet
        .command('init')
        .summary('Set up the database of the fleet')
        .description('Create the tables of the fleet, which fleet serve does too where it has the rights.')
        .option('--sql', 'Print the statements for an administrator instead')
        .action(perform(async () => (await actions()).fleetInit, withoutProject));
    },
  },
} satisfies CommandTable;
