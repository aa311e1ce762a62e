import type { Emulator } from '../../src/emulator/start-emulator.ts';

/** Returns the id of the agent with this name. The order of records is not defined after concurrent creates. */
export function agentNamed(emulator: Emulator, name: string): string {
  const agent = [...emulator.world.agents.values()].find((each) => each.name === name);
  if (agent === undefined) throw new Error(`no agent is named ${name}`);
  return agent.id;
}
