import type { AccountText } from '../en/account.ts'

export const accountText: AccountText = {
  profile: {
    confirmTitle: 'Est-ce bien votre nom\u202f?',
    confirmLead:
      'Il a été indiqué lors de l’inscription de cette adresse. Une fois que vous l’aurez confirmé, nos courriels s’adresseront à vous sous ce nom.',
    confirmYes: 'Oui, c’est mon nom',
    confirmNo: 'Non, le modifier',
    confirmed: 'Merci. Nos courriels s’adresseront à vous sous ce nom.',
    lead: 'Voici ce que le service sait de vous.',
    details: 'Vos informations',
    name: 'Nom',
    since: 'Inscription le',
    edit: 'Changer mon nom',
    save: 'Enregistrer',
    saved: 'Enregistré.',
    publicPage: 'Votre page publique',
    publicLead: 'Toute personne disposant de ce lien voit votre nom, et rien d’autre.',
    lostByName:
      'L’école a vérifié votre identité. Si vous changez de nom, elle devra la vérifier de nouveau et, d’ici là, certaines applications ne vous laissent pas entrer.',
    notVerified: 'Pas encore vérifié',
    publicUnverified:
      'Toute personne disposant de ce lien voit votre nom, et la mention que l’école n’a pas vérifié votre identité. Demandez à l’école de la vérifier.',
    open: 'L’ouvrir',
    share: 'Partager',
    publicHidden: 'Masquée. Personne ne peut la voir.',
    hide: 'La masquer',
    show: 'L’afficher',
  },

  publicProfile: {
    verified: 'Vérifié par l’école',
    verifiedNote: 'Vétérinaire. L’école a vérifié l’identité de cette personne.',
    unverifiedNote:
      'L’école n’a pas vérifié l’identité de cette personne. Le nom affiché est celui qu’elle a indiqué.',
    none: 'Vétérinaire introuvable',
    noneLead:
      'Aucun vétérinaire à cette adresse. Le lien contient peut-être une erreur, ou le compte est fermé.',
    toPortal: 'Aller à la page d’accueil',
  },

  email: {
    change: 'Changer mon adresse',
    title: 'Changer mon adresse',
    now: (email) => `Votre adresse est ${email}.`,
    field: 'Nouvelle adresse e-mail',
    hint: 'Nous y enverrons un code pour vérifier que vous y avez accès.',
    sent: (email) => `Nous envoyons un code à ${email}.`,
    lost: 'L’école a vérifié votre identité. Si vous changez d’adresse, elle devra la vérifier de nouveau et, d’ici là, certaines applications ne vous laissent pas entrer.',
    same: 'C’est déjà votre adresse.',
    confirm: 'Changer mon adresse',
    fresh:
      'Votre connexion n’est plus récente. Confirmez d’abord votre identité avec un code envoyé à votre adresse actuelle.',
    goOn: 'Continuer',
    done: (email) => `Votre adresse est maintenant ${email}. Les autres appareils sont déconnectés.`,
    back: 'Retour à mon profil',
  },

  sessions: {
    title: 'Où vous êtes connecté',
    lead: 'Si vous ne reconnaissez pas un appareil, déconnectez-le.',
    here: 'ici',
    lastUsed: (time) => `Dernière utilisation\u00a0: ${time}`,
    since: (day) => `Connecté le ${day}`,
    signOutThere: 'Déconnecter',
    signedOutThere: (device) => `${device} est déconnecté.`,
    deviceOn: (program, system) => `${program} sur ${system}`,
    unknownDevice: 'Appareil inconnu',
    everywhere: 'Se déconnecter partout',
    everywhereTitle: 'Se déconnecter partout\u202f?',
    everywhereLead:
      'Tous les appareils sont déconnectés, celui-ci aussi. Un nouveau code vous permettra de vous reconnecter.',
  },

  data: {
    title: 'Mes données',
    download: 'Télécharger mes données',
    downloadLead:
      'Tout ce que le service conserve à votre sujet, dans un fichier lisible par vous comme par un logiciel.',
    downloaded: 'Le fichier est dans vos téléchargements.',
    close: 'Fermer mon compte',
    closeLead: 'Votre compte et vos données personnelles sont effacés. C’est irréversible.',
    closeOpen: 'Fermer mon compte…',
    roster:
      'Les données des étudiants viennent de la liste de l’école. Pour les corriger, adressez-vous à la scolarité.',
  },

  close: {
    title: 'Fermer mon compte',
    what: 'Si vous fermez votre compte\u00a0:',
    effects: [
      'votre nom et votre adresse e-mail sont effacés,',
      'votre page publique disparaît,',
      'tous les appareils sont déconnectés,',
      'le compte ne peut pas être rétabli, mais vous pourrez vous inscrire de nouveau.',
    ],
    confirmLabel: (lastname) => `Pour confirmer, saisissez votre nom\u00a0: ${lastname}`,
    mismatch: 'Ce n’est pas votre nom.',
    submit: 'Fermer définitivement mon compte',
    fresh:
      'Votre connexion n’est plus récente. Confirmez votre identité avec un nouveau code\u202f; le compte sera alors fermé.',
    keep: 'Garder mon compte',
  },
}
