import { type Address, idKey, kindOf, type Resource } from '../../manifests/resource.ts';
import { CannotEdit } from '../../manifests/write-back/change.ts';
import { advice, command, UserError } from '../../problems/user-error.ts';
import type { ReadDeclarations } from '../../project/read-declarations.ts';
import { editedFile, type FileEdit } from '../../project/write-back/edit-plan.ts';
import type { State } from '../../state/state.ts';

type NamedState = Pick<State, 'resources'> & { readonly name: string };

/**
 * The addresses whose manifests name records of the workspace that is left: there `metadata.id` has done its work, and in the other
 * workspace it would name a record that does not exist.
 * @throws UserError where a manifest names a record that neither state knows.
 */
export function foreignIds(
  resources: readonly Resource[],
  { from, to }: { readonly from: NamedState; readonly to: NamedState },
): ReadonlySet<Address> {
  const named = resources.filter(({ id }) => id !== undefined);
  const isOf = ({ resources: known }: NamedState, { address, id }: Resource): boolean =>
    known.get(address)?.id === id;
  const elsewhere = new Set([...from.resources].map(([address, { id }]) => idKey(kindOf(address), id)));
  const foreign = named.filter((each) => !isOf(to, each) && elsewhere.has(idKey(each.kind, each.id ?? '')));
  const strange = named.filter((each) => !isOf(to, each) && !foreign.includes(each));
  const [first] = strange;
  if (first !== undefined) {
    const more = strange.length === 1 ? '' : `, and ${strange.length - 1} more manifests name such records`;
    throw new UserError(
      `${first.source.file}:${first.source.line}  ${first.address} names the record ${first.id}, which neither the state of ${from.name} nor of ${to.name} has${more}`,
      {
        hint: advice`Adopt the existing records first: ${command(`apply -w ${from.name}`)}. Then remove metadata.id from the manifests.`,
      },
    );
  }
  return new Set(foreign.map(({ address }) => address));
}

/** The manifest files without `metadata.id` of these resources. Reads files, writes none. */
export function withoutIds(
  root: string,
  { declarations }: Pick<ReadDeclarations, 'declarations'>,
  addresses: ReadonlySet<Address>,
): FileEdit[] {
  const concerned = declarations.filter(({ address }) => addresses.has(address));
  return [...Map.groupBy(concerned, ({ home }) => home.file)].map(([file, members]) => {
    try {
      const edits = members.map(({ home }) => ({
        document: home.document,
        path: ['metadata', 'id'],
        value: undefined,
      }));
      return editedFile(root, file, edits);
    } catch (error) {
      if (!(error instanceof CannotEdit)) throw error;
      throw new UserError(`cannot remove metadata.id from ${file}: ${error.message}`, {
        hint: 'Edit the file to remove it. The state already has the record.',
        cause: error,
      });
    }
  });
}
