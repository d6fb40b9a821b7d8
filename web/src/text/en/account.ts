export const accountText = {
  profile: {
    confirmTitle: 'Is this your name?',
    confirmLead:
      'It was given when this address was registered. Once you confirm it, our mails will greet you by it.',
    confirmYes: 'Yes, this is my name',
    confirmNo: 'No, change it',
    confirmed: 'Thank you. Our mails will greet you by this name.',
    lead: 'This is what the service knows about you.',
    details: 'Your details',
    name: 'Name',
    since: 'Registered on',
    edit: 'Change my name',
    save: 'Save',
    saved: 'Saved.',
    publicPage: 'Your public page',
    publicLead: 'Anyone with this link sees your name and nothing else.',
    lostByName:
      'The school has verified you. If you change your name, it will have to verify you again, and until then some applications do not let you in.',
    notVerified: 'Not verified yet',
    publicUnverified:
      'Anyone with this link sees your name and a note that the school has not checked who you are. Ask the school to verify you.',
    open: 'Open it',
    share: 'Share',
    publicHidden: 'Hidden. Nobody can see it.',
    hide: 'Hide it',
    show: 'Show it',
  },

  publicProfile: {
    verified: 'Verified by the school',
    verifiedNote: 'A veterinarian. The school has checked who this is.',
    unverifiedNote: 'The school has not checked who this is. The name is the one they entered.',
    none: 'No such veterinarian',
    noneLead:
      'There is no veterinarian at this address. The link may be mistyped, or the account may be closed.',
    toPortal: 'Go to the start page',
  },

  email: {
    change: 'Change my address',
    title: 'Change my address',
    now: (email: string) => `Your address is ${email}.`,
    field: 'New e-mail address',
    hint: 'We will send a code there to make sure that you can read it.',
    sent: (email: string) => `We are sending a code to ${email}.`,
    lost: 'The school has verified you. With a new address, it will have to verify you again, and until then some applications do not let you in.',
    same: 'This is already your address.',
    confirm: 'Change my address',
    fresh:
      'You signed in a while ago. First confirm that it is you, with a code sent to your current address.',
    goOn: 'Continue',
    done: (email: string) => `Your address is now ${email}. Your other devices have been signed out.`,
    back: 'Back to my profile',
  },

  sessions: {
    title: 'Where you are signed in',
    lead: 'If you do not recognise a device, sign it out.',
    here: 'here',
    lastUsed: (time: string) => `Last used: ${time}`,
    since: (day: string) => `Signed in on ${day}`,
    signOutThere: 'Sign out there',
    signedOutThere: (device: string) => `${device} is signed out.`,
    deviceOn: (program: string, system: string) => `${program} on ${system}`,
    unknownDevice: 'Unknown device',
    everywhere: 'Sign out everywhere',
    everywhereTitle: 'Sign out everywhere?',
    everywhereLead: 'Every device is signed out, this one too. You can sign in again with a new code.',
  },

  data: {
    title: 'My data',
    download: 'Download my data',
    downloadLead: 'Everything the service holds about you, in a file that both people and programs can read.',
    downloaded: 'The file is in your downloads.',
    close: 'Close my account',
    closeLead: 'Your account and your personal data are erased. This cannot be undone.',
    closeOpen: 'Close my account…',
    roster: 'Student data comes from the school’s roster. To correct it, ask the registrar’s office.',
  },

  close: {
    title: 'Close my account',
    what: 'If you close your account:',
    effects: [
      'your name and e-mail address are erased,',
      'your public page disappears,',
      'every device is signed out,',
      'the account cannot be restored, but you can register again.',
    ],
    confirmLabel: (lastname: string) => `To confirm, type your last name: ${lastname}`,
    mismatch: 'This is not your last name.',
    submit: 'Close my account for good',
    fresh: 'You signed in a while ago. Confirm that it is you with a new code; the account is then closed.',
    keep: 'Keep my account',
  },
}

export type AccountText = typeof accountText
