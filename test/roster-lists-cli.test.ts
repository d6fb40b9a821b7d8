/** `chiron roster from-list` and `chiron roster template` as separate processes: output, files and exit codes. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { commandFolder } from './support/child.ts'
import { atLength } from './support/engines.ts'
import { run } from './support/roster-commands.ts'

const folder = commandFolder()
const roster = (env: Record<string, string>, ...args: string[]) => run(folder.path, ['roster', ...args], env)
const at = (name: string) => join(folder.path, name)

const list = `Matricola,Name,E-mail,Class,Phone
1,Ada Byron,ada@school.example,3A,1
2,Tom Gray,tom@school.example,3A,2
`

suite('Class lists on the command line', { concurrency: 2, ...atLength }, () => {
  test('The mapping is shown with sample rows, kept in a file, and used from it', async () => {
    const env = folder.ownStore()
    writeFileSync(at('list.csv'), list)
    const options = ['--out', 'set.zip', '--term', '2026-09-01..2027-01-31', '--map-file', 'columns.json']
    const made = await roster(env, 'from-list', 'list.csv', ...options, '--map', 'number=Matricola')
    assert.equal(made.code, 0, made.err)
    assert.match(
      made.out,
      /^list\.csv: 2 rows below line 1\.\n--map +meaning +column +first row +second row\n/,
    )
    assert.match(made.out, /\nnumber +student number +Matricola +1 +2\n/)
    assert.match(made.out, /\nNot used: Phone\.\n/)
    assert.match(made.out, /Made set\.zip: 2 students, 1 class, 2 enrolments, 0 teachers\./)
    assert.match(made.out, /The mapping is kept in columns\.json for next time\.\n$/)
    assert.deepEqual(JSON.parse(readFileSync(at('columns.json'), 'utf8')), {
      name: 'Name',
      number: 'Matricola',
      email: 'E-mail',
      class: 'Class',
    })
    const again = await roster(env, 'from-list', 'list.csv', ...options, '--json')
    assert.equal(again.code, 0, again.err)
    assert.deepEqual(
      again.json.map(({ type }) => type),
      ['list', 'done'],
    )
    assert.deepEqual(again.json[0].mapping[1], { field: 'number', header: 'Matricola', samples: ['1', '2'] })
    assert.deepEqual(again.json[1], {
      ...{ type: 'done', kind: 'class list', out: 'set.zip' },
      ...{ students: 2, teachers: 0, classes: 1, enrolments: 2 },
    })
    const imported = await roster(env, 'import', 'set.zip', '--yes')
    assert.equal(imported.code, 0, imported.out)
    const nothing = await roster(env, 'import', 'set.zip', '--yes')
    assert.match(nothing.out, /nothing to do/)
  })

  test('A list with errors makes no set, and exits with 3', async () => {
    writeFileSync(at('bad.csv'), list.replace('Tom Gray', ''))
    const args = ['from-list', 'bad.csv', '--out', 'bad.zip', '--term', '2026-09-01..2027-01-31']
    const refused = await roster({}, ...args, '--map-file', 'bad.json')
    assert.equal(refused.code, 3)
    assert.match(refused.out, /bad\.csv, line 3, Name: The row has no name\. Fill it in, or remove the row\./)
    assert.deepEqual([existsSync(at('bad.zip')), existsSync(at('bad.json'))], [false, false])
    const asJson = await roster({}, ...args, '--json')
    assert.equal(asJson.code, 3)
    assert.deepEqual(
      asJson.json.map(({ type, code }) => code ?? type),
      ['list', 'missing-value', 'refused'],
    )
  })

  test('Options that are wrong say what they take', async () => {
    writeFileSync(at('good.csv'), list)
    const failed = async (...options: string[]) => {
      const { code, err } = await roster({}, 'from-list', 'good.csv', ...options)
      assert.equal(code, 1, err)
      return err
    }
    assert.match(await failed('--out', 'x.zip', '--map', 'number'), /--map takes a field and a header/)
    assert.match(await failed('--out', 'x.zip', '--map', 'nummer=Matricola'), /--map knows name, firstName/)
    assert.match(
      await failed('--out', 'x.zip', '--term', 'autumn'),
      /--term takes the first and the last day/,
    )
    assert.match(await failed('--out', 'x.zip', '--dates', 'both'), /--dates takes day-first or month-first/)
    assert.match(await failed('--out', 'good.csv'), /--out names a file that is read/)
    assert.match(await failed('--out', 'nowhere/x.zip', '--term', '2026-09-01..2027-01-31'), /no such folder/)
    writeFileSync(at('wrong.json'), '[1]')
    assert.match(await failed('--out', 'x.zip', '--map-file', 'wrong.json'), /wrong\.json is not a mapping/)
    assert.match((await roster({}, 'from-list', 'none.csv', '--out', 'x.zip')).err, /there is no such file/)
  })

  test('The template is read as it is, and nothing is overwritten', async () => {
    const env = folder.ownStore()
    const written = await roster(env, 'template', 'examples', '--json')
    assert.equal(written.code, 0, written.err)
    for (const file of written.json[0].files) assert.ok(existsSync(at(file)), file)
    const outs = ['csv', 'xlsx'].map(async (ending) => {
      const out = `from-${ending}.zip`
      const made = await roster(env, 'from-list', `examples/class-list.${ending}`, '--out', out, '--json')
      assert.equal(made.code, 0, made.out)
      assert.deepEqual(
        made.json.filter(({ type }) => type === 'finding'),
        [],
      )
      return readFileSync(at(out))
    })
    const [csv, xlsx] = await Promise.all(outs)
    assert.deepEqual(csv, xlsx)
    const imported = await roster(env, 'import', 'examples/oneroster', '--yes', '--json')
    assert.equal(imported.code, 0, imported.err)
    assert.deepEqual(
      imported.json.filter(({ type }) => type === 'finding'),
      [],
    )
    const same = await roster(env, 'import', 'from-csv.zip', '--yes', '--json')
    assert.equal(same.json.at(-1).generation, null)
    const again = await roster(env, 'template', 'examples')
    assert.equal(again.code, 1)
    assert.match(again.err, /class-list\.csv is there already: name another folder/)
  })

  test('Whoever hands in a list as a roster is told of from-list', async () => {
    const env = folder.ownStore()
    writeFileSync(at('plain.csv'), list)
    const { code, out } = await roster(env, 'check', 'plain.csv')
    assert.equal(code, 3)
    assert.match(
      out,
      /a class list: upload it in the console as it is, or make a roster of it: chiron roster from-list plain\.csv --out set\.zip\n/,
    )
  })
})
