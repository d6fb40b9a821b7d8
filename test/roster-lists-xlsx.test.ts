/** Workbooks: cells as Excel shows them, what else may come as a list, and bounds. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { recogniseColumns } from '../src/school/roster/list-headers.ts'
import { dayFrom, meetingsFrom } from '../src/school/roster/lists/day-text.ts'
import { shownNumber } from '../src/school/roster/lists/number-format.ts'
import { nameFrom, teacherNameFrom } from '../src/school/roster/lists/person-name.ts'
import { type Attributes, parseXml, XmlError } from '../src/school/roster/lists/xml.ts'
import { linesOf, listFile, readSet, setFrom } from './support/class-lists.ts'
import { centralHeaders, packZip } from './support/roster-files.ts'
import { type Grid, packWorkbook, type WorkbookOptions } from './support/workbooks.ts'

const header = ['Number', 'Name', 'E-mail']

async function madeFrom(sheets: Record<string, Grid>, options: WorkbookOptions = {}) {
  return setFrom([listFile('list.xlsx', await packWorkbook(sheets, options))])
}

/** The first cell of the only row, in the column of the number. */
async function shownAs(raw: string, options: WorkbookOptions = {}): Promise<string | undefined> {
  const made = await madeFrom({ List: [header, [{ raw }, 'Ada Byron', 'ada@school.example']] }, options)
  return made.tables[0]!.mapping.find(({ field }) => field === 'number')!.samples[0]
}

suite('Cells of a workbook', () => {
  const formats: readonly (readonly [value: number, format: string, shown: string])[] = [
    [42, 'General', '42'],
    [42, '00000', '00042'],
    [123456, '00000', '123456'],
    [123456789, '000-00-0000', '123-45-6789'],
    [42, '"S-"0000', 'S-0042'],
    [42, '0', '42'],
    [42, '#', '42'],
    [42, '0.00', '42'],
    [1234567, '#,##0', '1234567'],
    [100000, 'General', '100000'],
    [550000000, '0.00E+00', '550000000'],
    [20260001000, 'General', '20260001000'],
    [0.1 + 0.2, 'General', '0.3'],
    [1e-7, 'General', '0.0000001'],
    [12345 * 10 ** 15, 'General', '1.23450E+19'],
    [-5, '00000', '-5'],
    [46266, 'yyyy-mm-dd', '2026-09-01'],
    [46266, 'd/m/yyyy', '2026-09-01'],
    [46266, '[$-40C]d mmmm yyyy;@', '2026-09-01'],
    [46266.5, 'dd/mm/yyyy hh:mm', '2026-09-01 12:00'],
    [0.375, 'h:mm', '09:00'],
    [0.6041666667, 'h:mm AM/PM', '14:30'],
    [0.375, '[h]:mm:ss', '09:00'],
    [7, '0" days"', '7 days'],
    [7, '[Red]0', '7'],
    [1e12, 'yyyy-mm-dd', '1000000000000'],
    [46266.9999, 'dd/mm/yyyy hh:mm', '2026-09-01 23:59'],
    [46266.9999999, 'dd/mm/yyyy hh:mm', '2026-09-02'],
    [0.9999, 'h:mm', '23:59'],
    [0.9999999, 'h:mm', '00:00'],
    [46266.38194444444, 'dd/mm/yyyy hh:mm', '2026-09-01 09:10'],
  ]
  for (const [value, format, shown] of formats)
    test(`${value} in ${format} is ${shown}`, () => assert.equal(shownNumber(value, format, false), shown))

  test('Days may count from 1904', () => {
    assert.equal(shownNumber(44804, 'yyyy-mm-dd', true), '2026-09-01')
  })

  const cells: readonly (readonly [what: string, raw: string, shown: string])[] = [
    ['a number', '><v>100</v></c>', '100'],
    ['a whole number that is kept with a point', '><v>100.0</v></c>', '100'],
    ['the result of a formula', '><f>A1+1</f><v>101</v></c>', '101'],
    ['a text that a formula makes', 't="str"><f>A1</f><v>A &amp; B</v></c>', 'A & B'],
    ['a formula that was never worked out', '><f>A1+1</f></c>', '#FORMULA'],
    ['true', 't="b"><v>1</v></c>', 'TRUE'],
    ['an error', 't="e"><v>#N/A</v></c>', '#N/A'],
    ['a day in ISO form', 't="d"><v>2026-09-01T00:00:00</v></c>', '2026-09-01'],
    ['text in the cell', 't="inlineStr"><is><t> S-1</t></is></c>', 'S-1'],
    [
      'rich text',
      't="inlineStr"><is><r><rPr><b/></rPr><t>S-</t></r><r><t>1</t></r><rPh><t>x</t></rPh></is></c>',
      'S-1',
    ],
    ['text with escapes', 't="inlineStr"><is><t>A&#233;_x0042_&#x43;</t></is></c>', 'AéBC'],
    ['a text of CDATA', 't="inlineStr"><is><t><![CDATA[<S>]]></t></is></c>', '<S>'],
    ['a built-in day', 's="1"><v>46266</v></c>', '2026-09-01'],
    ['a shared text that is not there', 't="s"><v>999</v></c>', ''],
  ]
  for (const [what, raw, shown] of cells)
    test(what, async () => {
      const styles = '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
      assert.equal(await shownAs(raw, { parts: { 'xl/styles.xml': styles } }), shown)
    })

  test('An error or a formula without a result is told with its row', async () => {
    const made = await madeFrom({
      List: [
        header,
        [{ raw: 't="e"><v>#REF!</v></c>' }, 'Ada Byron', 'ada@school.example'],
        [{ raw: '><f>A1</f></c>' }, 'Tom Gray', 'tom@school.example'],
      ],
    })
    assert.deepEqual(linesOf(made.findings), [
      'error spreadsheet-error list.xlsx, sheet List:2 Number',
      'error missing-value list.xlsx, sheet List:3 Number',
    ])
    assert.match(made.findings[0]!.message, /spreadsheet error/)
    assert.match(made.findings[1]!.message, /no result yet/)
  })
})

suite('Sheets of a workbook', () => {
  const rows: Grid = [header, ['1', 'Ada Byron', 'ada@school.example']]

  test('The first sheet with known headers counts; hidden ones do not', async () => {
    const old: Grid = [header, ['9', 'Old List', 'old@school.example']]
    const sheets = { Old: old, Notes: [['Hello']], 'Year 1 &amp; 2': rows }
    const made = await madeFrom(sheets, { attributes: { Old: 'state="hidden"' } })
    assert.equal(made.tables[0]!.sheet, 'Year 1 & 2')
    assert.deepEqual([...(await readSet(made)).users.keys()], ['student-1'])
  })

  test('Further sheets with known headers are named', async () => {
    const made = await madeFrom({ '3A': rows, Notes: [['Hello']], '3B': rows })
    assert.deepEqual(linesOf(made.findings), ['warning unread-sheet list.xlsx'])
    assert.match(made.findings[0]!.message, /The sheet "3B" looks like a class list, too, and was not read/)
    assert.equal(made.counts?.students, 1)
  })

  test('Without a known header, each sheet is named with its beginning', async () => {
    const made = await madeFrom({ One: [['Hallo']], Two: [] })
    assert.deepEqual(linesOf(made.findings), [
      'error missing-column list.xlsx, sheet One:1',
      'error missing-column list.xlsx, sheet Two',
    ])
    assert.match(made.findings[0]!.message, /It begins with: Hallo\./)
    assert.match(made.findings[1]!.message, /It is empty\./)
  })

  test('Rows and cells may lack their references, and namespaces may have prefixes', async () => {
    const cell = (text: string) => `<x:c t="inlineStr"><x:is><x:t>${text}</x:t></x:is></x:c>`
    const line = (cells: readonly string[]) => `<x:row>${cells.map(cell).join('')}</x:row>`
    const sheet = `<x:worksheet xmlns:x="m"><x:sheetData>${line(header)}<x:row/>${line(['', 'Ada Byron', 'ada@school.example']).replace(cell(''), '<x:c/>')}</x:sheetData></x:worksheet>`
    const made = await madeFrom({ List: rows }, { parts: { 'xl/worksheets/sheet1.xml': sheet } })
    assert.deepEqual(linesOf(made.findings), [])
    assert.deepEqual([...(await readSet(made)).users.keys()], ['student-ada@school.example'])
  })

  test('Anything else in place of a list is named', async () => {
    const named = async (name: string, content: string | Buffer) =>
      (await setFrom([listFile(name, content)])).findings.map(({ message }) => message).join(' ')
    assert.match(
      await named('a.xls', Buffer.from('d0cf11e0a1b11ae100', 'hex')),
      /old Excel workbook \(xls\), or one with a password/,
    )
    assert.match(await named('a.pdf', '%PDF-1.7'), /PDF/)
    assert.match(await named('a.ods', await packZip({ mimetype: 'x', 'content.xml': '<x/>' })), /LibreOffice/)
    assert.match(await named('a.xlsb', await packZip({ 'xl/workbook.bin': 'x' })), /xlsb/)
    assert.match(
      await named('a.docx', await packZip({ '[Content_Types].xml': 'x', 'word/document.xml': 'x' })),
      /not an Excel workbook/,
    )
    assert.match(
      await named('a.bin', Buffer.from(`\x01\x02${'x'.repeat(50)}\0y`)),
      /neither an Excel workbook/,
    )
    const whole = await packWorkbook({ List: rows })
    assert.match(await named('a.xlsx', whole.subarray(0, 300)), /incomplete or damaged/)
    await assert.rejects(setFrom(['/nowhere/list.xlsx']), /there is no such file/)
  })
})

suite('Bounds of lists', () => {
  const rows: Grid = [
    header,
    ['1', 'Ada Byron', 'ada@school.example'],
    ['2', 'Tom Gray', 'tom@school.example'],
  ]
  const codes = async (content: Buffer | string, bounds = {}) =>
    (await setFrom([listFile('list.xlsx', content)], { bounds })).findings.map(({ code }) => code)

  test('Too many rows, too many octets, and too tight a packing are refused', async () => {
    const workbook = await packWorkbook({ List: rows })
    assert.deepEqual(await codes(workbook), [])
    assert.deepEqual(await codes(workbook, { rowsMax: 2 }), ['too-many-rows'])
    assert.deepEqual(await codes(workbook, { octetsMax: 500 }), ['unpacks-too-large'])
    const text = 'Number,Name,E-mail\n1,Ada Byron,ada@school.example\n'
    assert.deepEqual(await codes(text, { octetsMax: 20 }), ['unpacks-too-large'])
    const parts = { 'xl/sharedStrings.xml': `<sst>${' '.repeat(1_000_000)}</sst>` }
    assert.deepEqual(await codes(await packWorkbook({ List: rows }, { parts })), ['packed-too-tightly'])
  })

  test('A row with text in more than 1,024 columns is refused; empty cells do not count', async () => {
    const wide = (more: string) => codes(`Number,Name,E-mail${more}\n1,Ada Byron,ada@school.example${more}\n`)
    assert.deepEqual(await wide(',Student ID'.repeat(1_000_000)), ['too-many-columns'])
    assert.deepEqual(await wide(`${','.repeat(1_022)}x`), ['too-many-columns'])
    assert.deepEqual(await wide(`${','.repeat(1_021)}x`), [])
    assert.deepEqual(await wide(','.repeat(20_000)), [])
    const far = (reference: string, text: string) => ({
      'xl/worksheets/sheet1.xml': `<worksheet><sheetData><row><c r="${reference}" t="inlineStr"><is><t>${text}</t></is></c></row></sheetData></worksheet>`,
    })
    const workbook = async (parts: Record<string, string>) =>
      codes(await packWorkbook({ List: rows }, { parts }))
    assert.deepEqual(await workbook(far('AMJ1', 'x')), ['missing-column'])
    assert.deepEqual(await workbook(far('AMK1', 'x')), ['too-many-columns'])
    assert.deepEqual(await workbook(far('XFD1', ' ')), ['missing-column'])
  })

  test('What a workbook may have is bounded, and each bound has its sentence', async () => {
    const refusal = async (parts: Record<string, string>, bounds = {}) => {
      const made = await setFrom([listFile('list.xlsx', await packWorkbook({ List: rows }, { parts }))], {
        bounds,
      })
      return made.findings.map(({ code, message }) => `${code}: ${message}`).join()
    }
    const styles = (inside: string) => ({ 'xl/styles.xml': `<styleSheet>${inside}</styleSheet>` })
    const format = (length: number) => styles(`<numFmt numFmtId="164" formatCode="${'['.repeat(length)}"/>`)
    assert.equal(await refusal(format(255)), '')
    assert.match(
      await refusal(format(256)),
      /^damaged-file: .*styles\.xml: a number format has more than 255 /,
    )
    const formats = (count: number) => {
      const own = Array.from({ length: count }, (_, i) => `<numFmt numFmtId="${i}" formatCode="0${i}"/>`)
      return styles(own.join(''))
    }
    assert.match(await refusal(formats(65_537)), /^damaged-file: .*more than 65,536 formats/)
    const sheets = Array.from({ length: 257 }, (_, i) => `<sheet name="${i}" r:id="rId1"/>`).join('')
    const many = { 'xl/workbook.xml': `<workbook><sheets>${sheets}</sheets></workbook>` }
    assert.match(await refusal(many), /^damaged-file: .*more than 256 sheets/)
    const text = (length: number) => {
      const words = Array.from({ length: length / 8 }, (_, i) => `${i}`.padStart(8, ' ')).join('')
      return { 'xl/sharedStrings.xml': `<sst><si><t>${words}</t></si></sst>` }
    }
    assert.match(await refusal(text(32_768)), /^damaged-file: .*a cell has more than 32,767 characters/)
    assert.match(await refusal({}, { charactersMax: 50 }), /^unpacks-too-large: The cells have more than 50 /)
    const long = `Number,Name,E-mail\n1,Ada Byron${'x'.repeat(40_000)},ada@school.example\n`
    assert.deepEqual(await codes(long), ['too-long'])
    assert.deepEqual(await codes(long.replace('Ada', '"Ada').replace('x,', 'x",')), ['bad-quotes'])
  })

  test('A list takes no longer for texts that are made to be slow', async () => {
    const columns =
      'Number,Name,E-mail,Class,Code,Group,Teacher,Term,Room,Meets,Year,Start date,End date'.split(',')
    const secondsFor = async (content: string) => {
      const before = process.threadCpuUsage()
      await codes(content)
      return process.threadCpuUsage(before).user / 1e6
    }
    for (const unit of [' ', '.', '-', '1 ', ' ,md', '\t']) {
      const slow = `"a${unit.repeat(32_000 / unit.length)}b"`
      const asCells = `${columns}\n${columns.map(() => slow)}\n`
      const asHeaders = `${columns},${columns.map(() => slow)}\n`
      for (const content of [asCells, asHeaders])
        assert.ok((await secondsFor(content)) < 1.5, `${JSON.stringify(unit)} takes long`)
    }
    const before = process.threadCpuUsage()
    for (const unit of ['[', '"', '[h', '\\', '_'])
      for (let i = 0; i < 100; i++) shownNumber(45_000.5, unit.repeat(200_000 / unit.length), false)
    teacherNameFrom(`Ana${' , md'.repeat(20_000)}x`)
    assert.ok(process.threadCpuUsage(before).user < 5_000_000)
  })

  test('A workbook that lies about its sizes is refused while it is read', async () => {
    const parts = { 'xl/sharedStrings.xml': `<sst>${' '.repeat(1_000_000)}</sst>` }
    const zip = await packWorkbook({ List: rows }, { parts })
    for (const at of centralHeaders(zip))
      if (zip.readUInt32LE(at + 24) > 100_000) zip.writeUInt32LE(1000, at + 24)
    const found = await codes(zip)
    assert.equal(found.length, 1)
    assert.match(found[0]!, /^(damaged-file|packed-too-tightly)$/)
  })

  test('A document type, and a tag without an end, are refused', async () => {
    const entities = '<!DOCTYPE x [<!ENTITY a "aaaa">]><sst><si><t>&a;</t></si></sst>'
    for (const text of [entities, '<sst><si', '<sst a="'])
      assert.deepEqual(
        await codes(await packWorkbook({ List: rows }, { parts: { 'xl/sharedStrings.xml': text } })),
        ['damaged-file'],
      )
  })
})

suite('XML in pieces', () => {
  const text = '<?xml version="1.0"?><a b="1 > 0" c=\'&lt;\'><!-- <no> --><d/>x &amp; y<![CDATA[<z>]]></a>'
  const taken = async (pieces: readonly Buffer[]) => {
    const all: unknown[] = []
    const taker = {
      open: (name: string, attributes: Attributes) => all.push(['open', name, { ...attributes }]),
      text: (some: string) => all.push(['text', some]),
      close: (name: string) => all.push(['close', name]),
    }
    for await (const _ of parseXml(inTurn(pieces), taker));
    return all
  }

  test('comes out the same wherever it is cut', async () => {
    const whole = await taken([Buffer.from(text)])
    assert.deepEqual(whole, [
      ['open', 'a', { b: '1 > 0', c: '<' }],
      ['open', 'd', {}],
      ['close', 'd'],
      ['text', 'x & y'],
      ['text', '<z>'],
      ['close', 'a'],
    ])
    for (let at = 1; at < text.length; at++)
      assert.deepEqual(
        await taken([Buffer.from(text.slice(0, at)), Buffer.from(text.slice(at))]),
        whole,
        String(at),
      )
  })

  for (const [damaged, why] of [
    ['<a><b></a></b>', 'it is not well-formed'],
    ['<a>&nbsp;</a>', 'it is not well-formed'],
    ['<a></a><b/>', 'it is not well-formed'],
    ['<a><b></b>', 'the end is missing'],
    ['<a b="', 'the end is missing'],
    ['', 'the end is missing'],
    ['<!DOCTYPE a []><a/>', 'it has a document type'],
    ['<a>'.repeat(1_000), 'its tags are nested too deeply'],
  ] as const)
    test(`is refused if it is damaged: ${damaged.slice(0, 20)}`, async () => {
      await assert.rejects(taken([Buffer.from(damaged)]), new XmlError(why))
    })

  // If reading took quadratic time, these would take minutes.
  const shapes: readonly (readonly [name: string, some: string])[] = [
    ['a name without a value', 'a'],
    ['values without a name', '""'],
    ['spaces after a name', 'a '],
    ['names with an equals sign and no value', 'a= '],
    ['slashes', '/'],
    ['quotes in quotes', `"'"`],
    ['a > in values', `a='>' `],
  ]
  const tagOf = (some: string, length: number) =>
    Buffer.from(`<a first="1" ${some.repeat(length / some.length)} last="2"></a>`)
  for (const [name, some] of shapes)
    test(`a long tag is refused at once: ${name}`, async () => {
      const before = process.threadCpuUsage()
      await assert.rejects(taken([tagOf(some, 1_000_000)]), new XmlError('it is not well-formed'))
      assert.ok(process.threadCpuUsage(before).user < 2_000_000)
    })

  test('a long tag is read, and an endless one refused', async () => {
    assert.deepEqual(await taken([tagOf(' ', 1_000_000)]), [
      ['open', 'a', { first: '1', last: '2' }],
      ['close', 'a'],
    ])
    for (const endless of ['<a x="', '<a>', '<!-- ', '<a '])
      await assert.rejects(
        taken(
          [endless, ...Array.from({ length: 40 }, () => ' '.repeat(40_000))].map((some) => Buffer.from(some)),
        ),
        new XmlError('a tag has no end'),
      )
  })
})

async function* inTurn<T>(items: readonly T[]) {
  yield* items
}

suite('What people write', () => {
  const headers: readonly (readonly [header: string, field: string | undefined])[] = [
    ['Student No.', 'number'],
    ['STUDENT_ID', 'number'],
    ['N° de l’étudiant', 'number'],
    ['Nº de expediente', 'number'],
    ['Registration number', 'number'],
    ['Class number', 'code'],
    ['Code étudiant', 'number'],
    ['e-Mail Address', 'email'],
    ['E-mail institutionnel', 'email'],
    ['Correo electrónico', 'email'],
    ['Personal e-mail', undefined],
    ['Student', 'name'],
    ['Nom complet', 'name'],
    ['Apellidos y nombre', 'name'],
    ['Surname', 'lastName'],
    ['Prénom(s)', 'firstName'],
    ['Année d’études', 'year'],
    ['Année universitaire', 'term'],
    ['Year of study', 'year'],
    ['Class name', 'class'],
    ['Intitulé du cours', 'class'],
    ['Enseignant(s)', 'teacher'],
    ['Profesor/a', 'teacher'],
    ['Teacher last name', 'teacherLastName'],
    ['Apellido materno', 'secondLastName'],
    ['Univ. e-mail', 'email'],
    ['Du', 'start'],
    ['Roll No', 'number'],
    ['Nom du cours', 'class'],
    ['Course code', 'code'],
    ['Código de la asignatura', 'code'],
    ['Teacher', 'teacher'],
    ['Nombre del profesor', 'teacher'],
    ['E-mail de l’enseignant', 'teacherEmail'],
    ['Start date', 'start'],
    ['Date de fin', 'end'],
    ['Fecha de inicio', 'start'],
    ['F. FIN', 'end'],
    ['Cuatrimestre', 'term'],
    ['Salle', 'room'],
    ['Classroom', 'room'],
    ['Horario', 'meets'],
    ['Heure de début', 'startTime'],
    ['Phone', undefined],
    ['', undefined],
  ]
  for (const [written, field] of headers)
    test(`"${written}" is ${field ?? 'not known'}`, () => {
      assert.deepEqual(
        [...recogniseColumns([written], new Map()).at.keys()],
        field === undefined ? [] : [field],
      )
    })

  test('A word may mean another thing beside others', () => {
    const fieldsOf = (...written: string[]) => [...recogniseColumns(written, new Map()).at.keys()].sort()
    assert.deepEqual(fieldsOf('Nom', 'Prénom'), ['firstName', 'lastName'])
    assert.deepEqual(fieldsOf('Nombre', 'Apellidos'), ['firstName', 'lastName'])
    assert.deepEqual(fieldsOf('Name', 'First name', 'Last name'), ['firstName', 'lastName'])
    assert.deepEqual(fieldsOf('Curso', 'Asignatura'), ['class', 'year'])
    assert.deepEqual(fieldsOf('Curso'), ['class'])
    assert.deepEqual(fieldsOf('Grupo'), ['class'])
  })

  const meetings: readonly (readonly [written: string, read: string | null])[] = [
    ['Mon 09:00-10:30; Wed 14:00-15:00', 'Mon 09:00-10:30; Wed 14:00-15:00'],
    ['Mondays and Wednesdays 9:00 – 10:30', 'Mon 09:00-10:30; Wed 09:00-10:30'],
    ['Mon 9-10, 11-12', 'Mon 09:00-10:00; Mon 11:00-12:00'],
    ['MWF 9:00am-9:50am', 'Mon 09:00-09:50; Wed 09:00-09:50; Fri 09:00-09:50'],
    ['TTh 13:00-14:00', 'Tue 13:00-14:00; Thu 13:00-14:00'],
    ['M 13:00-14:00', null],
    ['Tue 11 am - 1 pm', 'Tue 11:00-13:00'],
    ['Tue 11-1 pm', 'Tue 11:00-13:00'],
    ['lundi 9h-10h30 / jeu. 14h00 à 16h00', 'Mon 09:00-10:30; Thu 14:00-16:00'],
    ['Lun y Mié 9.00-10.30', 'Mon 09:00-10:30; Wed 09:00-10:30'],
    ['sábado de 09:00 a 12:00', 'Sat 09:00-12:00'],
    ['Mon 10:00-09:00', null],
    ['Mon 09:00-25:00', null],
    ['every morning 9-10', null],
    ['9-10', null],
    ['Mon', null],
  ]
  for (const [written, read] of meetings)
    test(`${written} is ${read ?? 'not understood'}`, () => assert.equal(meetingsFrom(written), read))

  const days: readonly (readonly [written: string, read: string | null])[] = [
    ['46266', '2026-09-01'],
    ['12345', null],
    ['1 September 2026', '2026-09-01'],
    ['7-Sep-26', '2026-09-07'],
    ['September 1st, 2026', '2026-09-01'],
    ['1er septembre 2026', '2026-09-01'],
    ['15 févr. 2027', '2027-02-15'],
    ['1 de septiembre de 2026', '2026-09-01'],
    ['31 enero 2027', '2027-01-31'],
    ['31 September 2026', null],
    ['1 jui 2026', null],
    ['week 1 2026', null],
  ]
  for (const [written, read] of days)
    test(`${written} is ${read ?? 'not a day'}`, () => assert.equal(dayFrom(written, null), read))

  const names: readonly (readonly [written: string, given: string, family: string])[] = [
    ['Ada Byron', 'Ada', 'Byron'],
    ['Byron, Ada', 'Ada', 'Byron'],
    ['DUPONT Marie', 'Marie', 'DUPONT'],
    ['Marie-Claire DE LA TOUR', 'Marie-Claire', 'DE LA TOUR'],
    ['Ana López García', 'Ana', 'López García'],
    ['ADA BYRON', 'ADA', 'BYRON'],
    ['Mª Ángeles Ruiz', 'Mª', 'Ángeles Ruiz'],
    ['Plato', '', 'Plato'],
  ]
  for (const [written, given, family] of names)
    test(`${written} is ${given} and ${family}`, () =>
      assert.deepEqual(nameFrom(written, false), { given, family }))

  test('A header may say that the last name comes first, and teachers lose their titles', () => {
    assert.deepEqual(nameFrom('Byron Ada Augusta', true), { given: 'Ada Augusta', family: 'Byron' })
    const titled = ['Prof. Dr. Ana López', 'Dra Ana López', 'Dr.Ana López', 'López, Ana']
    for (const written of [...titled, 'Ana López, PhD', 'Ana López, DVM, DACVS', 'Dr. Ana López, Ph.D.'])
      assert.deepEqual(teacherNameFrom(written), { given: 'Ana', family: 'López' }, written)
    assert.deepEqual(teacherNameFrom('Smith, Deborah'), { given: 'Deborah', family: 'Smith' })
  })
})
