import { didYouMeanOneOf, NO_HINT, nearestCandidate, type Suggestion, suggestion } from '../problems/suggest.ts';
import { valueAt } from '../values/path.ts';
import type { DocumentPath, Finding } from './finding.ts';
import { idsAndSecrets } from './kind-schema.ts';
import { type CheckedDeclaration, type Declaration, findingAt, findingInSpec, sourceText } from './layers.ts';
import { type Address, parseAddress } from './resource.ts';

/** Returns all declarations but the first of each address, and reports them. */
export function duplicateAddresses(declarations: readonly Declaration[]): {
  readonly duplicates: ReadonlySet<Declaration>;
  readonly findings: readonly Finding[];
} {
  const repeats = [...repeated(declarations, ({ address }) => address)];
  return {
    duplicates: new Set(repeats.map(([declaration]) => declaration)),
    findings: repeats.map(([declaration, first]) => {
      const message = `${declaration.address} is already declared at ${sourceText(first.source)}`;
      return findingAt(declaration, ['metadata', 'name'], { code: 'duplicate-address', message });
    }),
  };
}

/** Yields each member that repeats the key of an earlier member, with the first member that has the key. Ignores members without a key. */
export function* repeated<Member>(
  members: readonly Member[],
  keyOf: (member: Member) => string | undefined,
): Generator<readonly [duplicate: Member, first: Member]> {
  const firsts = new Map<string, Member>();
  for (const member of members) {
    const key = keyOf(member);
    if (key === undefined) continue;
    const first = firsts.get(key);
    if (first === undefined) firsts.set(key, member);
    else yield [member, first];
  }
}

/**
 * Reports resources that would manage the same record, at the later resource, and conflicting previous names.
 * @param checks.ids false if `metadata.id` does not apply in the workspace.
 */
export function identityFindings(
  resources: readonly CheckedDeclaration[],
  checks: { readonly ids: boolean },
): Finding[] {
  return [
    ...naturalKeyFindings(resources),
    ...(checks.ids ? idFindings(resources) : []),
    ...previousNameFindings(resources),
  ];
}

function* naturalKeyFindings(resources: readonly CheckedDeclaration[]): Generator<Finding> {
  const keyOf = ({ kind, naturalKey }: CheckedDeclaration) => naturalKey && `${kind.name}/${naturalKey.key}`;
  for (const [resource, { address, source }] of repeated(resources, keyOf)) {
    const { path = [] } = resource.naturalKey ?? {};
    const message = `${address} at ${sourceText(source)} has the same ${path.at(-1)}; both would manage the same record`;
    yield findingInSpec(resource, path, { code: 'duplicate-record', message });
  }
}

function* idFindings(resources: readonly CheckedDeclaration[]): Generator<Finding> {
  for (const [resource, { address, source }] of repeated(resources, ({ metadata }) => metadata.id)) {
    const message = `${address} at ${sourceText(source)} has the same metadata.id`;
    yield findingAt(resource, ['metadata', 'id'], { code: 'duplicate-id', message });
  }
}

function* previousNameFindings(resources: readonly CheckedDeclaration[]): Generator<Finding> {
  if (!resources.some(({ metadata }) => metadata.previous_names !== undefined)) return;
  const live = new Map(resources.map((resource) => [resource.address, resource]));
  const claims = new Map<string, CheckedDeclaration>();
  for (const resource of resources) {
    for (const [index, name] of (resource.metadata.previous_names ?? []).entries()) {
      if (name === '') continue;
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

interface ReferenceScope {
  readonly resources: readonly CheckedDeclaration[];
  /** Addresses that are declared, but skipped in this workspace. */
  readonly skipped: ReadonlySet<Address>;
  readonly workspace: string;
  /** Kinds whose records are found by name on the platform. */
  readonly lookups: ReadonlyMap<string, unknown>;
}

/** The maximum number of suggestions. Each one compares all addresses, so thousands would be slow. */
const MAX_SUGGESTIONS = 100;

/** Reports references to undeclared or skipped resources, names in id fields, and circular references. */
export function referenceFindings({ resources, skipped, workspace, lookups }: ReferenceScope): Finding[] {
  const live = new Map(resources.map((resource) => [resource.address, resource]));
  const findings: Finding[] = [];
  let danglingCount = 0;
  for (const resource of resources) {
    for (const { reference, path } of resource.references) {
      const { address, kind } = reference;
      if (live.has(address) || lookups.has(kind)) continue;
      if (skipped.has(address)) {
        const message = `${address} is skipped in the workspace ${workspace} and cannot be referenced there`;
        findings.push(findingInSpec(resource, path, { code: 'skipped-reference', message }));
      } else {
        const near = ++danglingCount > MAX_SUGGESTIONS ? NO_HINT : suggestAddress(address, live.keys());
        const message = `no manifest declares ${address}${near.text}`;
        const problem = { code: 'dangling-reference', message, fix: near.fix };
        const finding = findingInSpec(resource, path, problem);
        findings.push({ ...finding, absent: address });
      }
    }
  }
  for (const resource of resources) for (const finding of namesUsedAsIds(resource, live)) findings.push(finding);
  return [...findings, ...circularReferences(live)];
}

/** Warns about resource names in id fields, because the platform would find no record with that id. */
function* namesUsedAsIds(
  resource: CheckedDeclaration,
  live: ReadonlyMap<Address, CheckedDeclaration>,
): Generator<Finding> {
  for (const {
    field,
    rule: { refersTo },
  } of idsAndSecrets(resource.kind)) {
    if (refersTo === undefined) continue;
    const value = valueAt(resource.spec, field);
    if (value === undefined) continue;
    for (const [index, item] of (Array.isArray(value) ? value : [value]).entries()) {
      if (typeof item !== 'string') continue;
      const isAddress = item.startsWith(`${refersTo}/`);
      const address = isAddress ? item : `${refersTo}/${item}`;
      if (!isAddress && !live.has(address)) continue;
      const path = [...field.split('.'), ...(Array.isArray(value) ? [index] : [])];
      const hint = didYouMeanOneOf([`{ $ref: ${address} }`]);
      const message = `${JSON.stringify(item)} is the ${isAddress ? 'address' : 'name'} of a resource, not an id${hint}`;
      const fix = { instead: [{ $ref: address }] };
      yield { ...findingInSpec(resource, path, { code: 'name-for-id', message, fix }), severity: 'warning' };
    }
  }
}

/** Suggests a known address for an unknown one, preferably of the same kind. */
export function suggestAddress(address: Address, candidates: Iterable<Address>): Suggestion {
  const wanted = parseAddress(address);
  const known = [...candidates];
  if (wanted === undefined) return suggestion(address, known);
  const ofKind = known.filter((each) => each.startsWith(`${wanted.kind}/`));
  const name = nearestCandidate(
    wanted.name,
    ofKind.map((each) => each.slice(wanted.kind.length + 1)),
  );
  return suggestion(address, name === undefined ? known : [`${wanted.kind}/${name}`]);
}

interface ReferenceStep {
  readonly resource: CheckedDeclaration;
  /** The references that the walk has not followed yet. */
  readonly unfollowed: { readonly address: Address; readonly path: DocumentPath }[];
}

/** Reports each reference that closes a cycle. Walks the graph once. */
function circularReferences(live: ReadonlyMap<Address, CheckedDeclaration>): Finding[] {
  const findings: Finding[] = [];
  const finished = new Set<Address>();
  const active = new Map<Address, ReferenceStep>();
  const enter = (resource: CheckedDeclaration) => {
    const unfollowed = resource.references
      .map(({ reference, path }) => ({ address: reference.address, path }))
      .sort((a, b) => (a.address < b.address ? 1 : a.address > b.address ? -1 : 0));
    const step: ReferenceStep = { resource, unfollowed };
    active.set(resource.address, step);
    return step;
  };
  const referring = [...live.values()].filter(({ references }) => references.length > 0);
  for (const first of referring.sort((a, b) => (a.address < b.address ? -1 : 1))) {
    if (finished.has(first.address)) continue;
    const stack = [enter(first)];
    for (let step = stack.at(-1); step !== undefined; step = stack.at(-1)) {
      const next = step.unfollowed.pop();
      if (next === undefined) {
        stack.pop();
        active.delete(step.resource.address);
        finished.add(step.resource.address);
        continue;
      }
      const target = live.get(next.address);
      if (target === undefined || finished.has(next.address)) continue;
      if (active.has(next.address)) {
        const from = stack.findIndex(({ resource }) => resource === target);
        const addresses = stack.slice(from).map(({ resource }) => resource.address);
        const message = `circular reference: ${formatCycle([...addresses, next.address])}`;
        findings.push(findingInSpec(step.resource, next.path, { code: 'circular-reference', message }));
      } else stack.push(enter(target));
    }
  }
  return findings;
}

function formatCycle(addresses: readonly Address[]): string {
  if (addresses.length <= 10) return addresses.join(' -> ');
  return [...addresses.slice(0, 8), `${addresses.length - 9} more`, addresses.at(-1)].join(' -> ');
}
