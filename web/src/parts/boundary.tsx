import { Component, type ReactNode } from 'react'
import { send } from '../http.ts'
import { useWords } from '../text/text.ts'
import { useAction } from './action.ts'
import { Button } from './button.tsx'
import { ProblemNotice } from './notice.tsx'
import { Page } from './page.tsx'

/** Whatever breaks inside, a part of the page that did not arrive included, is said instead of leaving a blank page. */
export class Boundary extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false }

  static getDerivedStateFromError() {
    return { broken: true }
  }

  override render() {
    return this.state.broken ? <Broken /> : this.props.children
  }
}

function Broken() {
  const { text } = useWords()
  // Loading again while the service is away would leave the reader with nothing of ours at all.
  const reloading = useAction(async () => {
    await send('/health/live')
    location.reload()
  })
  return (
    <Page title={text.broken.title} lead={text.broken.lead} narrow>
      {reloading.problem && <ProblemNotice problem={reloading.problem} />}
      <Button look="main" busy={reloading.busy} onPress={reloading.run}>
        {text.broken.reload}
      </Button>
    </Page>
  )
}
