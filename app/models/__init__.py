"""The tables. Importing this package makes all of them known to `Base.metadata`."""

from app.models.absences import Absence, Departure
from app.models.base import Base
from app.models.documents import Attachment, Document
from app.models.export_runs import ExportRun
from app.models.feeds import CalendarFeed
from app.models.imports import ImportUpload, ImportWork
from app.models.ledger import (
    Acknowledgement,
    DatabaseIdentity,
    Delivery,
    DeliveryAttempt,
    DeliveryHold,
    MailMessage,
    MailTransport,
    NotificationLedger,
    ScanQueue,
    ScanRun,
    SchedulerProcess,
    Watermark,
)
from app.models.mail_trial import MailTrial
from app.models.people import Account, Member, MemberKind, MemberSite, Organisation, Post, RememberedPhone, SitePost
from app.models.register import DayOff, Kind, Obligation, Site, Subject
from app.models.rules import AlertRule, RuleKind, RuleRecipient, RuleSite, RuleSubject, RuleThreshold
from app.models.trail import (
    AuditCheckpoint,
    AuditEvent,
    AuditLeaf,
    AuditPersonal,
    AuditUnsealed,
    ImportRun,
    Installation,
    TrailKey,
)

__all__ = [
    "Absence", "Account", "Acknowledgement", "AlertRule", "Attachment", "AuditCheckpoint", "AuditEvent", "AuditLeaf",
    "AuditPersonal", "AuditUnsealed", "Base", "CalendarFeed", "DatabaseIdentity", "DayOff", "Delivery",
    "DeliveryAttempt", "DeliveryHold", "Departure", "Document", "ExportRun", "ImportRun", "ImportUpload",
    "ImportWork", "Installation", "Kind", "MailMessage", "MailTransport", "MailTrial", "Member", "MemberKind",
    "MemberSite", "NotificationLedger", "Obligation", "Organisation", "Post", "RememberedPhone", "RuleKind",
    "RuleRecipient", "RuleSite", "RuleSubject", "RuleThreshold", "ScanQueue", "ScanRun", "SchedulerProcess", "Site",
    "SitePost", "Subject", "TrailKey", "Watermark",
]  # fmt: skip
