//! The calls of the protocol: their names in both versions, and how long each may take.

use std::time::Duration;

use http::uri::PathAndQuery;

use crate::Protocol;

/// Questions that ask nothing of the world, or little.
const QUICK: Option<Duration> = Some(Duration::from_secs(5 * 60));
/// Reading may mean paging through a cloud.
const SLOW: Option<Duration> = Some(Duration::from_secs(30 * 60));
/// The answer of an apply is the state: it is waited for as long as it takes.
const NEVER: Option<Duration> = None;

/// One call.
pub(crate) struct Rpc {
    /// As version 6 and people call it.
    pub(crate) name: &'static str,
    v5: &'static str,
    v6: &'static str,
    pub(crate) limit: Option<Duration>,
}

impl Rpc {
    pub(crate) fn path(&self, protocol: Protocol) -> PathAndQuery {
        PathAndQuery::from_static(match protocol {
            Protocol::V5 => self.v5,
            Protocol::V6 => self.v6,
        })
    }
}

macro_rules! calls {
    ($($constant:ident $v5:literal $v6:literal $limit:ident;)*) => {
        $(pub(crate) const $constant: Rpc = Rpc {
            name: $v6,
            v5: concat!("/tfplugin5.Provider/", $v5),
            v6: concat!("/tfplugin6.Provider/", $v6),
            limit: $limit,
        };)*
    };
}

calls! {
    SCHEMA "GetSchema" "GetProviderSchema" QUICK;
    IDENTITIES "GetResourceIdentitySchemas" "GetResourceIdentitySchemas" QUICK;
    VALIDATE_PROVIDER "PrepareProviderConfig" "ValidateProviderConfig" QUICK;
    CONFIGURE "Configure" "ConfigureProvider" QUICK;
    VALIDATE "ValidateResourceTypeConfig" "ValidateResourceConfig" QUICK;
    VALIDATE_DATA "ValidateDataSourceConfig" "ValidateDataResourceConfig" QUICK;
    VALIDATE_EPHEMERAL "ValidateEphemeralResourceConfig" "ValidateEphemeralResourceConfig" QUICK;
    UPGRADE "UpgradeResourceState" "UpgradeResourceState" QUICK;
    UPGRADE_IDENTITY "UpgradeResourceIdentity" "UpgradeResourceIdentity" QUICK;
    READ "ReadResource" "ReadResource" SLOW;
    PLAN "PlanResourceChange" "PlanResourceChange" QUICK;
    APPLY "ApplyResourceChange" "ApplyResourceChange" NEVER;
    IMPORT "ImportResourceState" "ImportResourceState" SLOW;
    MOVE "MoveResourceState" "MoveResourceState" QUICK;
    READ_DATA "ReadDataSource" "ReadDataSource" SLOW;
    OPEN "OpenEphemeralResource" "OpenEphemeralResource" SLOW;
    RENEW "RenewEphemeralResource" "RenewEphemeralResource" QUICK;
    CLOSE "CloseEphemeralResource" "CloseEphemeralResource" QUICK;
    FUNCTION "CallFunction" "CallFunction" QUICK;
    STOP "Stop" "StopProvider" QUICK;
}

/// The services beside the provider's own.
pub(crate) const STDIO: &str = "/plugin.GRPCStdio/StreamStdio";
pub(crate) const SHUTDOWN: &str = "/plugin.GRPCController/Shutdown";
