import { type Checked, type Declaration, findingAt, findingInSpec, sourceText } from './declaration.ts';
import type { Finding } from './finding.ts';

/** Every manifest whose address an earlier one has. The others stand. */
export function duplicateAddresses(declarations: readonly Declaration[]): {
  readonly unique: readonly Declaration[];
  readonly findings: readonly Finding[];
} {
  const byAddress = new Map<string, Declaration>();
  const findings: Finding[] = [];
  for (const declaration of declarations) {
    const first = byAddress.get(declaration.address);
    if (first === undefined) byAddress.set(declaration.address, declaration);
    else {
      const message = `${declaration.address} is already declared at ${sourceText(first.source)}`;
      findings.push(findingAt(declaration, ['metadata', 'name'], { code: 'duplicate-address', message }));
    }
  }
  return { unique: [...byAddress.values()], findings };
}

/** Two resources that would be one record, and names that are claimed twice. Found at the later of the two. */
export function identityFindings(resources: readonly Checked[]): Finding[] {
  return [...naturalKeyFindings(resources), ...idFindings(resources), ...previousNameFindings(resources)];
}

function* naturalKeyFindings(resources: readonly Checked[]): Generator<Finding> {
  const firsts = new Map<string, Checked>();
  for (const resource of resources) {
    const { naturalKey, kind } = resource;
    if (naturalKey === undefined) continue;
    const key = `${kind.name}/${naturalKey.key}`;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, resource);
    else {
      const field = naturalKey.path.at(-1);
      const message = `${first.address} at ${sourceText(first.source)} has the same ${field}; both would manage the same record`;
      yield findingInSpec(resource, naturalKey.path, { code: 'duplicate-record', message });
    }
  }
}

function* idFindings(resources: readonly Checked[]): Generator<Finding> {
  const firsts = new Map<string, Checked>();
  for (const resource of resources) {
    const { id } = resource.metadata;
    if (id === undefined) continue;
    const first = firsts.get(id);
    if (first === undefined) firsts.set(id, resource);
    else {
      const message = `${first.address} at ${sourceText(first.source)} has the same metadata.id`;
      yield findingAt(resource, ['metadata', 'id'], { code: 'duplicate-id', message });
    }
  }
}

function* previousNameFindings(resources: readonly Checked[]): Generator<Finding> {
  if (!resources.some(({ metadata }) => metadata.previous_names !== undefined)) return;
  const live = new Map(resources.map((resource) => [resource.address, resource]));
  const claims = new Map<string, Checked>();
  for (const resource of resources) {
    for (const [index, name] of (resource.metadata.previous_names ?? []).entries()) {
      const path = ['metadata', 'previous_names', index];
      const address = `${resource.kind.name}/${name}`;
      const owner = live.get(address);
      const claim = claims.get(address);
      if (owner !== undefined) {
        const message =
          owner === resource
            ? `${address} is the current name of the resource`
            : `${address} still has its own manifest, at ${sourceText(owner.source)}`;
        yield findingAt(resource, path, { code: 'live-previous-name', message });
      } else if (claim !== undefined && claim !== resource) {
        const message = `${claim.address} at ${sourceText(claim.source)} also has ${address} in previous_names`;
        yield findingAt(resource, path, { code: 'duplicate-previous-name', message });
      }
      claims.set(address, claim ?? resource);
    }
  }
}
