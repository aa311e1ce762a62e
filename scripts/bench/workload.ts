import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/* Generates projects of any size: one file of about 3 kB for each agent. */

/** The variables of all measured commands. */
export const BENCH_ENV = { BENCH_API_KEY: 'key-of-the-bench' };
export const WORKSPACE_ID = '01JBENCH0WORKSPACE00000001';

const SENTENCES = [
  'Greet the caller by the name of the company and ask what they need.',
  'If the line is bad, ask once to repeat; then offer to call back.',
  'Never promise a date, a price or a refund that no tool has confirmed.',
  'Read numbers digit by digit, and wait for the caller to confirm them.',
  'Hand over to a colleague when somebody is upset, hurt or in danger.',
  'Keep answers to two sentences; a caller cannot scroll back.',
];
const PROMPT_LINES = 38;

export interface AgentSpec {
  readonly name: string;
  readonly call_config: object;
  readonly llm_config: object;
  readonly prompt_config: { readonly prompt: string; readonly first_speaker: string };
  readonly stt_config: object;
  readonly tts_config: object;
}

export function agentSpec(index: number): AgentSpec {
  return {
    name: `Line ${index}`,
    call_config: { max_call_duration_ms: 600_000, ring_duration_ms: 20_000 + (index % 10) * 1000 },
    llm_config: { provider: 'internal', model: 'gpt-4o', temperature: (index % 10) / 10, max_tokens: 800 },
    prompt_config: { prompt: promptOf(index), first_speaker: 'ai' },
    stt_config: { provider: 'deepgram', model: 'nova-3' },
    tts_config: { provider: 'elevenlabs', voice_id: `voice-${index % 7}`, responsiveness: 0.8 },
  };
}

function promptOf(index: number): string {
  const lines = [`# Line ${index}`];
  for (let line = 1; line < PROMPT_LINES; line++) {
    lines.push(`- ${SENTENCES[(index + line) % SENTENCES.length]}`);
  }
  return lines.join('\n');
}

export function manifestText(index: number): string {
  const { prompt_config, ...rest } = agentSpec(index);
  const configs = Object.entries(rest).map(([key, value]) =>
    typeof value === 'string'
      ? `  ${key}: ${value}`
      : `  ${key}:\n${Object.entries(value)
          .map(([field, leaf]) => `    ${field}: ${leaf}`)
          .join('\n')}`,
  );
  const prompt = prompt_config.prompt
    .split('\n')
    .map((line) => `      ${line}`)
    .join('\n');
  return `apiVersion: voxform/v1
kind: Agent
metadata:
  name: ${agentName(index)}
  labels: { team: team-${index % 10} }
spec:
${configs.join('\n')}
  prompt_config:
    first_speaker: ${prompt_config.first_speaker}
    prompt: |-
${prompt}
`;
}

/** Returns an id as long as those of the platform. */
export function agentId(index: number): string {
  return `01JBENCH${String(index).padStart(18, '0')}`;
}

export function agentAddress(index: number): `Agent/${string}` {
  return `Agent/${agentName(index)}`;
}

export function agentName(index: number): string {
  return `line-${String(index).padStart(6, '0')}`;
}

export const FLEET_AGENTS = 3;
/** The workspaces of each project in a fleet. They have the same agents, with different ids. */
export const FLEET_WORKSPACES = ['staging', 'production'] as const;

/** Returns an agent of a fleet, by its number across all workspaces. */
export function fleetAgent(number: number): { readonly spec: AgentSpec; readonly workspaceId: string } {
  const workspace = Math.floor(number / FLEET_AGENTS);
  return { spec: agentSpec(fleetSpecOf(number)), workspaceId: fleetWorkspaceId(workspace) };
}

/** Returns the number of an agent's spec. The workspaces of a project share specs. */
export function fleetSpecOf(number: number): number {
  const project = Math.floor(number / FLEET_AGENTS / FLEET_WORKSPACES.length);
  return project * FLEET_AGENTS + (number % FLEET_AGENTS);
}

export function fleetWorkspaceId(workspace: number): string {
  return `01JBENCH0WORKSPACE${String(workspace).padStart(8, '0')}`;
}

/** How a platform responds: normally, after seconds, or often with an error or not at all. */
export const MANNERS = ['sound', 'slow', 'failing'] as const;
export type Manner = (typeof MANNERS)[number];

/** Returns the manner of the platform of a project. 1 % of the platforms are slow or failing. */
export function mannerOf(project: number): Manner {
  const nth = project % 200;
  return nth === 50 ? 'slow' : nth === 150 ? 'failing' : 'sound';
}

export function fleetWorkspaces(project: number): readonly number[] {
  return FLEET_WORKSPACES.map((_, nth) => project * FLEET_WORKSPACES.length + nth);
}

/** Writes the projects of a fleet with this many workspaces into a folder. */
export function writeFleetProjects(folder: string, workspaces: number, urlOf: (workspace: number) => string): void {
  for (let project = 0; project < workspaces / FLEET_WORKSPACES.length; project++) {
    const own = path.join(folder, fleetProject(project));
    mkdirSync(path.join(own, 'manifests'), { recursive: true });
    for (let agent = 0; agent < FLEET_AGENTS; agent++)
      writeFileSync(fleetManifest(folder, project, agent), manifestText(project * FLEET_AGENTS + agent));
    const settings = fleetWorkspaces(project).map((workspace, nth) => {
      const connection = `base_url: "${urlOf(workspace)}", workspace_id: ${fleetWorkspaceId(workspace)}`;
      return `  ${FLEET_WORKSPACES[nth]}: { ${connection}, api_key: { $secret: BENCH_API_KEY } }`;
    });
    writeFileSync(path.join(own, 'voxform.yaml'), `version: 1\nworkspaces:\n${settings.join('\n')}\n`);
  }
}

/** Returns the address of a workspace, by its number. */
export function fleetAddress(workspace: number): string {
  const { length } = FLEET_WORKSPACES;
  return `clients/${fleetProject(Math.floor(workspace / length))}:${FLEET_WORKSPACES[workspace % length]}`;
}

function fleetProject(project: number): string {
  return `client-${String(project).padStart(5, '0')}`;
}

export function fleetManifest(folder: string, project: number, agent: number): string {
  return path.join(folder, fleetProject(project), 'manifests', `agent-${agent}.yaml`);
}

/** Writes a project with this many agents into an empty folder. */
export function writeProject(folder: string, agents: number, baseUrl: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // A thousand files in each folder, as people would split them.
  for (let index = 0; index < agents; index++) {
    const part = path.join(folder, 'manifests', `part-${Math.floor(index / 1000)}`);
    if (index % 1000 === 0) mkdirSync(part, { recursive: true });
    writeFileSync(path.join(part, `${agentName(index)}.yaml`), manifestText(index));
  }
  writeFileSync(path.join(folder, 'voxform.yaml'), projectText(baseUrl));
}

export function projectText(baseUrl: string): string {
  return `version: 1
manifests: ["manifests/**/*.yaml"]
default_workspace: bench
workspaces:
  bench:
    base_url: ${baseUrl}
    workspace_id: ${WORKSPACE_ID}
    api_key: { $secret: BENCH_API_KEY }
`;
}
