// Writes the code cache of each chunk: the functions that a validation compiles, and the top level of every other chunk. Run it with
// `--random-seed`, which makes the caches reproducible, and with the Node binary that will read them.
//   node --random-seed=1 scripts/executable/code-cache.cjs CHUNKS

const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');

const root = path.resolve(__dirname, '..', '..');
const chunks = path.resolve(process.argv[2] ?? '.');
const names = readdirSync(chunks).filter((name) => name.endsWith('.cjs'));

/** Simulates the assets of the executable, which does not exist yet. */
const sea = {
  isSea: () => true,
  getAsset: (/** @type {string} */ name) => readFileSync(path.join(names.includes(name) ? chunks : root, name), 'utf8'),
  getAssetKeys: () => names,
};
const { getBuiltinModule } = process;
process.getBuiltinModule = (/** @type {string} */ name) => (name === 'node:sea' ? sea : getBuiltinModule(name));

const loader = readFileSync(path.join(__dirname, 'loader.cjs'), 'utf8');
const { load, modules } = new Function('require', `${loader}; return { load, modules };`)(
  (/** @type {string} */ name) => (name === 'node:sea' ? sea : require(name)),
);

process.once('exit', () => {
  for (const name of names) {
    const filename = name;
    const script = modules.get(name)?.script ?? new (require('node:vm').Script)(sea.getAsset(name), { filename });
    writeFileSync(path.join(chunks, `${name}.cache`), script.createCachedData());
  }
});
process.argv.splice(1, process.argv.length, '', '-C', path.join(root, 'examples', 'quickstart'), 'validate');
load('start.cjs').start(process);
