import { useState } from 'react'
import { byteOrderMark, spreadsheetLine } from '../../../../src/platform/lib/spreadsheet.ts'
import { Button } from '../../parts/button.tsx'
import { save } from '../../parts/save.ts'
import type { Finding, Plan } from '../roster-replies.ts'
import { StateMark } from '../state.tsx'
import { useConsole } from '../text/console-words.ts'

const shownAtFirst = 20

/** The findings in a file, errors first. */
export function Findings({ of: { findings, errors, warnings } }: { of: Plan }) {
  const { text: all, findings: meanings, number } = useConsole()
  const text = all.roster
  const [shown, setShown] = useState(shownAtFirst)
  return (
    <section aria-labelledby="findings">
      <h2 id="findings">{text.findings}</h2>
      {errors > 0 && <p>{text.errors(errors, number(errors))}</p>}
      {warnings > 0 && <p>{text.warnings(warnings, number(warnings))}</p>}
      <p>
        <Button onPress={() => save('roster-remarks.csv', 'text/csv', csvOf(findings))}>
          {text.download}
        </Button>
      </p>
      <ul className="rows plain-list">
        {findings.slice(0, shown).map((finding) => (
          <li key={[finding.code, finding.file, finding.line, finding.column, finding.value].join(' ')}>
            <span>
              <StateMark
                state={finding.severity === 'error' ? 'bad' : 'warning'}
                word={finding.severity === 'error' ? text.error : text.warning}
              />{' '}
              <bdi>
                {finding.line === null ? finding.file : text.at(finding.file, String(finding.line))}
                {finding.column && `, ${finding.column}`}
              </bdi>
            </span>
            <span>
              {meanings[finding.code]}{' '}
              <bdi lang="en" className={meanings[finding.code] && 'soft'}>
                {finding.message}
              </bdi>
              {finding.value !== null && finding.value !== '' && (
                <span className="soft">
                  {' '}
                  (<bdi>{finding.value}</bdi>)
                </span>
              )}
            </span>
          </li>
        ))}
      </ul>
      {shown < findings.length && (
        <Button onPress={() => setShown(shown + 5 * shownAtFirst)}>{all.more}</Button>
      )}
    </section>
  )
}

function csvOf(findings: readonly Finding[]): string {
  const columns = ['severity', 'code', 'file', 'line', 'column', 'value', 'message'] as const
  const lines = findings.map((finding) => spreadsheetLine(columns.map((column) => finding[column])))
  return [byteOrderMark, spreadsheetLine(columns), ...lines].join('')
}
