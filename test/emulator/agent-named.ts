import type { Emulator } from '../../src/emulator/start-emulator.ts';

/** Returns the id of the agent with this name. Concurrent creates arrive in any order, so the order of the records says nothing. */
export function agentNamed(emulator: Emulator, name: string): string {
  const agent = [...emulator.world.agents.values()].find((each) => each.name === name);
  if (agent === undefined) throw new Error(`no agent is named ${name}`);
  return agent.id;
}
